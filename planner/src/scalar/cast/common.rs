//! The common type of UNION branches, CASE results, VALUES columns and ARRAY elements.

use super::CastContext;
use super::matrix::can_coerce;
use crate::error::PlanError;
use crate::scalar::registry::type_name;
use repr::ScalarType;

/// The common type by PostgreSQL's rules; all unknown gives text.
pub(crate) fn select_common_type(types: &[ScalarType]) -> Result<ScalarType, PlanError> {
    select_common_type_for("CASE", types)
}

/// The same; `construct` ("UNION", "COALESCE", "VALUES", "ARRAY", "CASE", …) names it in errors.
pub(crate) fn select_common_type_for(construct: &str, types: &[ScalarType]) -> Result<ScalarType, PlanError> {
    let Some(first) = types.first() else { return Ok(ScalarType::Text) };
    if *first != ScalarType::Unknown && types.iter().all(|other| other == first) {
        return Ok(first.clone());
    }
    let mut known = types.iter().filter(|candidate| **candidate != ScalarType::Unknown);
    let Some(mut common) = known.next() else { return Ok(ScalarType::Text) };
    if let Some(record) = common_record(types) {
        return Ok(record);
    }
    for candidate in known {
        if candidate == common {
            continue;
        }
        if candidate.category() != common.category() {
            return Err(PlanError::new(
                "42804",
                format!("{construct} types {} and {} cannot be matched", type_name(common), type_name(candidate)),
            ));
        }
        if !common.is_preferred()
            && can_coerce(common, candidate, CastContext::Implicit)
            && !can_coerce(candidate, common, CastContext::Implicit)
        {
            common = candidate;
        }
    }
    for candidate in types {
        if candidate != common && !can_coerce(candidate, common, CastContext::Implicit) {
            return Err(PlanError::new(
                "42846",
                format!("{construct} could not convert type {} to {}", type_name(candidate), type_name(common)),
            ));
        }
    }
    Ok(common.clone())
}

/// Rows are of one type, whatever their fields: none is converted. Where fields differ nothing is said of them but that their
/// values say it themselves.
fn common_record(types: &[ScalarType]) -> Option<ScalarType> {
    let mut common: Option<Vec<(String, ScalarType)>> = None;
    for given in types.iter().filter(|given| **given != ScalarType::Unknown) {
        let ScalarType::Record(fields) = given else { return None };
        if !fields.is_anonymous() {
            return None;
        }
        let Some(common) = &mut common else {
            common = Some(fields.to_vec());
            continue;
        };
        for (place, (name, scalar)) in fields.iter().enumerate() {
            match common.get_mut(place) {
                None => common.push((name.clone(), scalar.clone())),
                Some((known, field)) => {
                    if known != name {
                        *known = format!("f{}", place + 1);
                    }
                    if field != scalar {
                        *field = ScalarType::Text;
                    }
                }
            }
        }
    }
    common.map(|fields| ScalarType::Record(fields.into()))
}
