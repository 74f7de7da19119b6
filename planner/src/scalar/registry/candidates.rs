//! The choice among overloads: PostgreSQL's `func_get_detail` and `func_select_candidate`.

use super::signature::{Binding, Pattern, Signature};
use crate::scalar::cast::{Cast, CastContext, CastMethod, can_coerce, select_common_type};
use repr::ScalarType;

/// The overload taken, and what the call then looks like.
pub(super) struct Chosen {
    pub(super) index: usize,
    pub(super) arg_casts: Vec<ScalarType>,
    pub(super) conversions: Vec<Option<CastMethod>>,
    pub(super) binding: Binding,
    pub(super) result: ScalarType,
}

/// Why there is no such overload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    None,
    Ambiguous,
    /// A polymorphic function over unknown literals only.
    Undetermined,
}

struct Candidate {
    index: usize,
    args: Vec<Pattern>,
    /// Takes its arguments one by one without variadic expansion; wins over one that needs it.
    plain: bool,
}

/// Chooses among signatures of one name.
pub(super) fn choose<'a>(
    signatures: impl IntoIterator<Item = &'a Signature>,
    types: &[ScalarType],
    as_array: bool,
) -> Result<Chosen, Failure> {
    let signatures: Vec<&Signature> = signatures.into_iter().collect();
    // Most calls: nothing is to be chosen.
    if !as_array
        && let Some(index) = signatures.iter().position(|signature| signature.takes_exactly(types))
        && let Some(args) = signatures[index].expanded(types.len(), false)
    {
        return finish(signatures[index], Candidate { index, args, plain: true }, types);
    }
    let mut candidates: Vec<Candidate> = Vec::new();
    for (index, signature) in signatures.iter().enumerate() {
        if let Some(args) = signature.expanded(types.len(), as_array) {
            candidates.push(Candidate { index, args, plain: !signature.variadic });
        }
    }
    let exact = candidates.iter().position(|candidate| {
        candidate.args.iter().zip(types).all(|(arg, given)| matches!(arg, Pattern::Exact(exact) if exact == given))
    });
    let taken = match exact {
        Some(exact) => candidates.swap_remove(exact),
        None => select(candidates, types)?,
    };
    finish(signatures[taken.index], taken, types)
}

fn select(mut candidates: Vec<Candidate>, types: &[ScalarType]) -> Result<Candidate, Failure> {
    candidates.retain(|candidate| accepts_all(&candidate.args, types));
    if candidates.len() > 1 && candidates.iter().any(|candidate| candidate.plain) {
        let preferred: Vec<bool> = candidates.iter().map(|candidate| candidate.plain).collect();
        retain_marked(&mut candidates, &preferred);
    }
    if let Some(single) = only(&mut candidates)? {
        return Ok(single);
    }
    let known = |given: &ScalarType| *given != ScalarType::Unknown;

    // The most exact matches.
    keep_best(&mut candidates, |candidate| {
        candidate.args.iter().zip(types).filter(|(arg, given)| known(given) && is_exact(arg, given)).count()
    });
    if let Some(single) = only(&mut candidates)? {
        return Ok(single);
    }

    // The most exact matches or preferred types of the argument's category.
    keep_best(&mut candidates, |candidate| {
        let fits = |arg: &Pattern, given: &ScalarType| {
            is_exact(arg, given)
                || matches!(arg, Pattern::Exact(to) if to.is_preferred() && to.category() == given.category())
        };
        candidate.args.iter().zip(types).filter(|(arg, given)| known(given) && fits(arg, given)).count()
    });
    if let Some(single) = only(&mut candidates)? {
        return Ok(single);
    }
    if types.iter().all(known) {
        return Err(Failure::Ambiguous);
    }

    // Unknown arguments take the category that the candidates agree on, or string.
    if let Some(slots) = unknown_categories(&candidates, types) {
        let fits: Vec<bool> = candidates
            .iter()
            .map(|candidate| {
                candidate.args.iter().zip(types).zip(&slots).all(|((arg, given), slot)| {
                    known(given)
                        || (pattern_category(arg) == slot.category && (!slot.has_preferred || pattern_preferred(arg)))
                })
            })
            .collect();
        if fits.contains(&true) {
            retain_marked(&mut candidates, &fits);
        }
        if let Some(single) = only(&mut candidates)? {
            return Ok(single);
        }
    }

    // If all known arguments have one type, unknown ones are taken to have it too.
    let mut known_types = types.iter().filter(|given| known(given));
    if let Some(first) = known_types.next()
        && known_types.all(|other| other == first)
    {
        let assumed = vec![first.clone(); types.len()];
        let fits: Vec<bool> = candidates.iter().map(|candidate| accepts_all(&candidate.args, &assumed)).collect();
        if fits.iter().filter(|fit| **fit).count() == 1 {
            retain_marked(&mut candidates, &fits);
            if let Some(single) = only(&mut candidates)? {
                return Ok(single);
            }
        }
    }
    Err(Failure::Ambiguous)
}

struct ArgumentSlot {
    category: char,
    has_preferred: bool,
}

fn unknown_categories(candidates: &[Candidate], types: &[ScalarType]) -> Option<Vec<ArgumentSlot>> {
    let mut slots = Vec::with_capacity(types.len());
    for (position, given) in types.iter().enumerate() {
        let mut slot: Option<ArgumentSlot> = None;
        let mut conflict = false;
        if *given == ScalarType::Unknown {
            for candidate in candidates {
                let arg = &candidate.args[position];
                let (category, preferred) = (pattern_category(arg), pattern_preferred(arg));
                match &mut slot {
                    None => slot = Some(ArgumentSlot { category, has_preferred: preferred }),
                    Some(slot) if slot.category == category => slot.has_preferred |= preferred,
                    Some(slot) if category == 'S' => {
                        *slot = ArgumentSlot { category, has_preferred: preferred };
                    }
                    Some(_) => conflict = true,
                }
            }
        }
        let slot = slot.unwrap_or(ArgumentSlot { category: 'X', has_preferred: false });
        if conflict && slot.category != 'S' {
            return None;
        }
        slots.push(slot);
    }
    Some(slots)
}

fn pattern_category(pattern: &Pattern) -> char {
    match pattern {
        Pattern::Exact(exact) => exact.category(),
        Pattern::AnyElement
        | Pattern::AnyArray
        | Pattern::AnyNonArray
        | Pattern::AnyEnum
        | Pattern::AnyRange
        | Pattern::AnyMultirange
        | Pattern::AnyCompatible
        | Pattern::AnyCompatibleArray
        | Pattern::Any
        | Pattern::Record
        | Pattern::AnyText
        | Pattern::AnyNonArrayText
        | Pattern::AnyArrayText
        | Pattern::AnyJson
        | Pattern::AnyJsonb
        | Pattern::JsonPairs
        | Pattern::JsonbPairs
        | Pattern::AnyType
        | Pattern::Spread(_) => 'P',
    }
}

fn pattern_preferred(pattern: &Pattern) -> bool {
    matches!(pattern, Pattern::Exact(exact) if exact.is_preferred())
}

fn is_exact(pattern: &Pattern, given: &ScalarType) -> bool {
    matches!(pattern, Pattern::Exact(exact) if exact == given)
}

fn keep_best(candidates: &mut Vec<Candidate>, score: impl Fn(&Candidate) -> usize) {
    let scores: Vec<usize> = candidates.iter().map(score).collect();
    let best = scores.iter().copied().max().unwrap_or(0);
    let marks: Vec<bool> = scores.iter().map(|score| *score == best).collect();
    retain_marked(candidates, &marks);
}

fn retain_marked(candidates: &mut Vec<Candidate>, marks: &[bool]) {
    let mut marks = marks.iter();
    candidates.retain(|_| *marks.next().expect("one mark for each candidate"));
}

fn only(candidates: &mut Vec<Candidate>) -> Result<Option<Candidate>, Failure> {
    match candidates.len() {
        0 => Err(Failure::None),
        1 => Ok(candidates.pop()),
        _ => Ok(None),
    }
}

/// Whether every argument can be coerced implicitly, polymorphic parameters agreeing with each other.
fn accepts_all(args: &[Pattern], types: &[ScalarType]) -> bool {
    args.iter().zip(types).all(|(arg, given)| accepts(arg, given)) && bind(args, types).is_some()
}

fn accepts(pattern: &Pattern, given: &ScalarType) -> bool {
    let unknown = *given == ScalarType::Unknown;
    match pattern {
        Pattern::Exact(exact) => can_coerce(given, exact, CastContext::Implicit),
        Pattern::AnyArray | Pattern::AnyCompatibleArray | Pattern::AnyArrayText => {
            unknown || element_of(given).is_some()
        }
        Pattern::Spread(_) => element_of(given).is_some(),
        Pattern::AnyNonArray | Pattern::AnyNonArrayText => unknown || element_of(given).is_none(),
        Pattern::AnyEnum => unknown || matches!(given, ScalarType::Enum(_)),
        Pattern::AnyRange => unknown || given.range_element().is_some(),
        Pattern::AnyMultirange => unknown || given.multirange_range().is_some(),
        Pattern::Record => matches!(given, ScalarType::Record(_)),
        Pattern::AnyElement
        | Pattern::AnyCompatible
        | Pattern::Any
        | Pattern::AnyText
        | Pattern::AnyJson
        | Pattern::AnyJsonb
        | Pattern::JsonPairs
        | Pattern::JsonbPairs
        | Pattern::AnyType => *given != ScalarType::Void,
    }
}

/// What PostgreSQL takes for no key of an object.
fn is_no_key(scalar: &ScalarType) -> bool {
    matches!(scalar, ScalarType::Array(_) | ScalarType::Record(_) | ScalarType::Jsonb)
}

fn element_of(scalar: &ScalarType) -> Option<ScalarType> {
    match scalar {
        ScalarType::Array(element) => Some((**element).clone()),
        ScalarType::Int2Vector => Some(ScalarType::Int2),
        ScalarType::OidVector => Some(ScalarType::Oid),
        _ => None,
    }
}

/// What the polymorphic types stand for; `None` if the arguments disagree. Unknown arguments bind nothing.
fn bind(args: &[Pattern], types: &[ScalarType]) -> Option<Binding> {
    let mut compatible: Vec<ScalarType> = Vec::new();
    let (mut element, mut range) = (None, None);
    let mut same = |found: ScalarType| agrees(&mut element, found);
    for (arg, given) in args.iter().zip(types) {
        if *given == ScalarType::Unknown {
            if matches!(arg, Pattern::AnyCompatible) {
                compatible.push(ScalarType::Unknown);
            }
            continue;
        }
        let fits = match arg {
            Pattern::AnyElement | Pattern::AnyNonArray | Pattern::AnyEnum => same(given.clone()),
            Pattern::AnyArray => element_of(given).is_some_and(&mut same),
            Pattern::AnyRange => {
                given.range_element().is_some_and(|found| same(found) && agrees(&mut range, given.clone()))
            }
            Pattern::AnyMultirange => given
                .multirange_range()
                .is_some_and(|own| own.range_element().is_some_and(&mut same) && agrees(&mut range, own)),
            Pattern::AnyCompatible => {
                compatible.push(given.clone());
                true
            }
            Pattern::AnyCompatibleArray => {
                compatible.push(element_of(given)?);
                true
            }
            Pattern::Exact(_)
            | Pattern::Any
            | Pattern::Record
            | Pattern::AnyText
            | Pattern::AnyNonArrayText
            | Pattern::AnyArrayText
            | Pattern::AnyJson
            | Pattern::AnyJsonb
            | Pattern::JsonPairs
            | Pattern::JsonbPairs
            | Pattern::AnyType
            | Pattern::Spread(_) => true,
        };
        if !fits {
            return None;
        }
    }
    let compatible = if compatible.is_empty() { None } else { Some(select_common_type(&compatible).ok()?) };
    Some(Binding { element, range, compatible })
}

/// Whether a type is what another parameter has bound already, or the first.
fn agrees(bound: &mut Option<ScalarType>, found: ScalarType) -> bool {
    *bound.get_or_insert_with(|| found.clone()) == found
}

fn finish(signature: &Signature, taken: Candidate, types: &[ScalarType]) -> Result<Chosen, Failure> {
    let mut binding = bind(&taken.args, types).ok_or(Failure::None)?;
    // Nothing but strings whose type nobody says: they are text.
    binding.compatible.get_or_insert(ScalarType::Text);
    let mut arg_casts = Vec::with_capacity(types.len());
    let mut conversions = Vec::with_capacity(types.len());
    let mut first_pair = None;
    for (position, (arg, given)) in taken.args.iter().zip(types).enumerate() {
        let is_key = matches!(arg, Pattern::JsonPairs | Pattern::JsonbPairs)
            && (position - *first_pair.get_or_insert(position)) % 2 == 0;
        let to = match arg {
            Pattern::Any | Pattern::Record if *given == ScalarType::Unknown => ScalarType::Text,
            Pattern::Any | Pattern::Record => given.clone(),
            // What is a document in jsonb is seen to be none.
            _ if is_key && *given == ScalarType::Json => ScalarType::Jsonb,
            _ if is_key && is_no_key(given) => given.clone(),
            _ if is_key => ScalarType::Text,
            _ => arg.bound(&binding).ok_or(Failure::Undetermined)?,
        };
        let text = matches!(
            given,
            ScalarType::Text | ScalarType::Varchar | ScalarType::Unknown | ScalarType::Name | ScalarType::Char
        );
        conversions.push(match arg {
            Pattern::AnyText | Pattern::AnyNonArrayText if text => None,
            Pattern::AnyText => Some(CastMethod::Print),
            Pattern::AnyNonArrayText => Some(CastMethod::Output),
            Pattern::AnyArrayText => match element_of(given) {
                Some(element) if element != ScalarType::Text => Some(CastMethod::Elements(Box::new(Cast {
                    from: element,
                    method: CastMethod::Print,
                    explicit: false,
                }))),
                Some(_) | None => None,
            },
            // They are refused where they are met.
            _ if is_key && *given == ScalarType::Json => Some(CastMethod::Json),
            _ if is_key && is_no_key(given) => None,
            _ if is_key => (!text).then_some(CastMethod::Output),
            Pattern::AnyJson | Pattern::JsonPairs if *given == ScalarType::Json => None,
            Pattern::AnyJsonb | Pattern::JsonbPairs if *given == ScalarType::Jsonb => None,
            Pattern::AnyJson | Pattern::AnyJsonb | Pattern::JsonPairs | Pattern::JsonbPairs => Some(CastMethod::ToJson),
            Pattern::AnyType => Some(CastMethod::TypeOf),
            Pattern::Spread(each) => element_of(given).map(|element| spread(each, element)),
            Pattern::Exact(_)
            | Pattern::AnyElement
            | Pattern::AnyArray
            | Pattern::AnyNonArray
            | Pattern::AnyEnum
            | Pattern::AnyRange
            | Pattern::AnyMultirange
            | Pattern::AnyCompatible
            | Pattern::AnyCompatibleArray
            | Pattern::Any
            | Pattern::Record => None,
        });
        arg_casts.push(to);
    }
    let result = signature.result(&binding).ok_or(Failure::Undetermined)?;
    Ok(Chosen { index: taken.index, arg_casts, conversions, binding, result })
}

/// How an array's elements become arguments that are JSON, or keys and values in turns.
fn spread(each: &Pattern, element: ScalarType) -> CastMethod {
    let cast = |method: CastMethod| Cast { from: element.clone(), method, explicit: false };
    if !matches!(each, Pattern::JsonPairs | Pattern::JsonbPairs) {
        return CastMethod::Elements(Box::new(cast(CastMethod::ToJson)));
    }
    let key = match &element {
        // A document is no key, which is found where it is met.
        ScalarType::Json => CastMethod::Json,
        scalar if is_no_key(scalar) => CastMethod::Relabel,
        _ => CastMethod::Output,
    };
    CastMethod::Pairs(Box::new((cast(key), cast(CastMethod::ToJson))))
}
