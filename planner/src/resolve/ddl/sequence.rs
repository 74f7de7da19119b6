//! Sequences: free ones, and those behind serial and identity columns.

use super::DdlEffect;
use super::change::DefinitionChange;
use super::column::ColumnSequence;
use crate::catalog::{Class, DefaultValue, NamespaceId, Qualifier, Sequence, Table};
use crate::error::PlanError;
use crate::parse::definition::SequenceOptions;
use crate::parse::parse_expression;
use crate::parse::statement::{Identifier, ObjectName, SqlText};
use crate::scalar::func::parse_identifier;
use repr::{ColumnIndex, RelationId, ScalarType, SequenceId};
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value};
use std::sync::Arc;

impl DefinitionChange<'_> {
    pub(super) fn create_sequence(
        &mut self,
        if_not_exists: bool,
        temporary: bool,
        name: &ObjectName,
        options: &SequenceOptions,
    ) -> Result<&'static str, PlanError> {
        let namespace = self.place_for(name, temporary)?;
        if if_not_exists && self.kind_in(namespace, &name.name).is_some() {
            self.notice("42P07", format!("relation \"{}\" already exists, skipping", name.name));
            return Ok("CREATE SEQUENCE");
        }
        self.require_free(namespace, &name.name).map_err(|error| error.at(Some(name.position)))?;
        let scalar = self.sequence_type(options)?.unwrap_or(ScalarType::Int8);
        let owned_by = self.sequence_owner(options)?.flatten();
        self.require_beside_owner(namespace, owned_by)?;
        self.insert_sequence((namespace, name.name.clone()), scalar, options, owned_by)?;
        Ok("CREATE SEQUENCE")
    }

    pub(super) fn alter_sequence(
        &mut self,
        if_exists: bool,
        name: &ObjectName,
        options: &SequenceOptions,
    ) -> Result<&'static str, PlanError> {
        if if_exists && self.is_missing(name)? {
            return Ok("ALTER SEQUENCE");
        }
        let id = self.sequence(name)?;
        self.change_sequence(id, options)?;
        Ok("ALTER SEQUENCE")
    }

    /// The sequence of a serial or identity column, and what the column's default becomes.
    pub(super) fn create_column_sequence(
        &mut self,
        id: RelationId,
        column: ColumnIndex,
        sequence: &ColumnSequence,
    ) -> Result<DefaultValue, PlanError> {
        let table: Arc<Table> = Arc::clone(self.get(id));
        let name = match &sequence.options.name {
            Some(name) => {
                let namespace = match name.schema {
                    Some(_) => self.place_of(name)?,
                    None => table.namespace,
                };
                self.require_free(namespace, &name.name).map_err(|error| error.at(Some(name.position)))?;
                (namespace, name.name.clone())
            }
            None => (table.namespace, self.relation_name(&table.name, &table.columns[column].name, "seq", &table)),
        };
        let scalar = self.sequence_type(&sequence.options)?.unwrap_or_else(|| sequence.scalar.clone());
        let sequence_id = self.insert_sequence(name, scalar, &sequence.options, Some((id, column)))?;
        Ok(match sequence.identity {
            Some(always) => DefaultValue::Identity { sequence: sequence_id, always },
            None => DefaultValue::Serial(sequence_id),
        })
    }

    /// What a default's text says: `nextval('sequence')` means the sequence itself, whatever it will be called.
    pub(super) fn default_of(&self, text: &SqlText) -> DefaultValue {
        let sequence = parse_expression(&text.text).ok().and_then(|expr| next_of(&expr)).and_then(|name| {
            let parts = parse_identifier(&name, true).ok()?;
            let (name, before) = parts.split_last()?;
            match self.scope().class(Qualifier::of(before), name) {
                Some(Class::Sequence(sequence)) => Some(sequence.id),
                Some(_) | None => None,
            }
        });
        sequence.map_or_else(|| DefaultValue::Expr(self.kept(&text.text)), DefaultValue::Serial)
    }

    fn insert_sequence(
        &mut self,
        (namespace, name): (NamespaceId, String),
        scalar: ScalarType,
        options: &SequenceOptions,
        owned_by: Option<(RelationId, ColumnIndex)>,
    ) -> Result<SequenceId, PlanError> {
        let id = SequenceId(self.next_id());
        let increment = options.increment.unwrap_or(1);
        let (low, high) = bounds(&scalar);
        let ascending = increment > 0;
        let min_value = options.min_value.flatten().unwrap_or(if ascending { 1 } else { low });
        let max_value = options.max_value.flatten().unwrap_or(if ascending { high } else { -1 });
        let start = options.start.unwrap_or(if ascending { min_value } else { max_value });
        let sequence = Sequence {
            id,
            name,
            namespace,
            data_type: scalar,
            start,
            increment,
            min_value,
            max_value,
            cycle: options.cycle.unwrap_or(false),
            owned_by,
            cache: options.cache.unwrap_or(1),
            generation: 0,
            first: None,
            continues: None,
        };
        check_sequence(&sequence, options)?;
        self.catalog.add_sequence(Arc::new(sequence));
        self.effects.push(DdlEffect::CreateSequence(id));
        if let Some(Some(restart)) = options.restart {
            self.effects.push(DdlEffect::RenewSequence { sequence: id, next: Some(restart) });
        }
        Ok(id)
    }

    /// ALTER SEQUENCE, and SET … of identity columns.
    pub(super) fn change_sequence(&mut self, id: SequenceId, options: &SequenceOptions) -> Result<(), PlanError> {
        let scalar = self.sequence_type(options)?;
        let owner = self.sequence_owner(options)?;
        let entry = self.catalog.sequences.get(&id).expect("ids come from this catalog");
        let mut sequence = Sequence::clone(entry);
        if owner.is_some() && self.is_identity_sequence(&sequence) {
            return Err(PlanError::new("0A000", "cannot change ownership of identity sequence")
                .detail(format!("Sequence \"{}\" belongs to an identity column.", sequence.name)));
        }
        if let Some(scalar) = scalar {
            let (old_low, old_high) = bounds(&sequence.data_type);
            let (low, high) = bounds(&scalar);
            if sequence.max_value == old_high {
                sequence.max_value = high;
            }
            if sequence.min_value == old_low {
                sequence.min_value = low;
            }
            sequence.data_type = scalar;
        }
        if let Some(increment) = options.increment {
            sequence.increment = increment;
        }
        let (low, high) = bounds(&sequence.data_type);
        let ascending = sequence.increment > 0;
        if let Some(min_value) = options.min_value {
            sequence.min_value = min_value.unwrap_or(if ascending { 1 } else { low });
        }
        if let Some(max_value) = options.max_value {
            sequence.max_value = max_value.unwrap_or(if ascending { high } else { -1 });
        }
        sequence.start = options.start.unwrap_or(sequence.start);
        sequence.cycle = options.cycle.unwrap_or(sequence.cycle);
        sequence.cache = options.cache.unwrap_or(sequence.cache);
        if let Some(owner) = owner {
            self.require_beside_owner(sequence.namespace, owner)?;
            sequence.owned_by = owner;
        }
        check_sequence(&sequence, options)?;
        if options.change_counting() {
            let next = options.restart.map(|restart| restart.unwrap_or(sequence.start));
            self.effects.push(DdlEffect::RenewSequence { sequence: id, next });
        }
        self.catalog.sequences.insert(id, Arc::new(sequence));
        Ok(())
    }

    /// Takes a sequence out of the catalog.
    pub(super) fn remove_sequence(&mut self, id: SequenceId) {
        if self.catalog.remove_sequence(id).is_some() {
            self.catalog.comments.remove(&id.0);
            self.effects.push(DdlEffect::DropSequence(id));
        }
    }

    /// Whether the sequence stands behind an identity column (then it goes only with the column).
    pub(super) fn is_identity_sequence(&self, sequence: &Sequence) -> bool {
        let Some((table, column)) = sequence.owned_by else { return false };
        let Some(table) = self.catalog.relations.get(&table) else { return false };
        matches!(table.columns[column].default, Some(DefaultValue::Identity { sequence: id, .. }) if id == sequence.id)
    }

    fn sequence_type(&self, options: &SequenceOptions) -> Result<Option<ScalarType>, PlanError> {
        let Some(type_name) = &options.data_type else { return Ok(None) };
        match self.column_type(type_name)?.scalar {
            scalar @ (ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8) => Ok(Some(scalar)),
            _ => Err(PlanError::new("22023", "sequence type must be smallint, integer, or bigint")
                .at(Some(type_name.position))),
        }
    }

    fn require_beside_owner(
        &self,
        namespace: NamespaceId,
        owner: Option<(RelationId, ColumnIndex)>,
    ) -> Result<(), PlanError> {
        match owner {
            Some((table, _)) if self.get(table).namespace != namespace => {
                Err(PlanError::new("55000", "sequence must be in same schema as table it is linked to"))
            }
            Some(_) | None => Ok(()),
        }
    }

    #[allow(clippy::type_complexity)] // OWNED BY absent, NONE, or a column.
    fn sequence_owner(
        &self,
        options: &SequenceOptions,
    ) -> Result<Option<Option<(RelationId, ColumnIndex)>>, PlanError> {
        let owner: &Option<(ObjectName, Identifier)> = match &options.owned_by {
            None => return Ok(None),
            Some(owner) => owner,
        };
        match owner {
            None => Ok(Some(None)),
            Some((table, column)) => {
                let owner = self.relation(table)?;
                if !self.get(owner).is_stored() {
                    let kind = self.get(owner).kind();
                    return Err(PlanError::unsupported(format!("a sequence owned by a column of a {kind}"))
                        .hint("name a table's column"));
                }
                let table = owner;
                Ok(Some(Some((table, self.column(table, column)?))))
            }
        }
    }
}

fn bounds(scalar: &ScalarType) -> (i64, i64) {
    match scalar {
        ScalarType::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        ScalarType::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

fn check_sequence(sequence: &Sequence, options: &SequenceOptions) -> Result<(), PlanError> {
    let refuse = |message: String| Err(PlanError::new("22023", message));
    let (low, high) = bounds(&sequence.data_type);
    let type_name = sequence.data_type.name();
    if sequence.increment == 0 {
        return refuse("INCREMENT must not be zero".to_string());
    }
    if options.cache.is_some_and(|cache| cache < 1) {
        return refuse(format!("CACHE ({}) must be greater than zero", options.cache.unwrap_or_default()));
    }
    if sequence.max_value < low || sequence.max_value > high {
        return refuse(format!("MAXVALUE ({}) is out of range for sequence data type {type_name}", sequence.max_value));
    }
    if sequence.min_value < low || sequence.min_value > high {
        return refuse(format!("MINVALUE ({}) is out of range for sequence data type {type_name}", sequence.min_value));
    }
    if sequence.min_value >= sequence.max_value {
        return refuse(format!(
            "MINVALUE ({}) must be less than MAXVALUE ({})",
            sequence.min_value, sequence.max_value
        ));
    }
    check_position(sequence, "START", sequence.start)?;
    options.restart.flatten().map_or(Ok(()), |restart| check_position(sequence, "RESTART", restart))
}

/// Where a sequence stands must be within its bounds.
pub fn check_sequence_position(sequence: &Sequence, value: i64) -> Result<(), PlanError> {
    check_position(sequence, "RESTART", value)
}

fn check_position(sequence: &Sequence, word: &str, value: i64) -> Result<(), PlanError> {
    let refuse = |message: String| Err(PlanError::new("22023", message));
    if value < sequence.min_value {
        return refuse(format!("{word} value ({value}) cannot be less than MINVALUE ({})", sequence.min_value));
    }
    if value > sequence.max_value {
        return refuse(format!("{word} value ({value}) cannot be greater than MAXVALUE ({})", sequence.max_value));
    }
    Ok(())
}

/// The sequence named in `nextval('name')` or `nextval('name'::regclass)`.
fn next_of(expr: &Expr) -> Option<String> {
    let Expr::Function(function) = expr else { return None };
    let names: Vec<&str> =
        function.name.0.iter().filter_map(|part| part.as_ident()).map(|ident| ident.value.as_str()).collect();
    let (["nextval"] | ["pg_catalog", "nextval"]) = names.as_slice() else { return None };
    let FunctionArguments::List(arguments) = &function.args else { return None };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] = arguments.args.as_slice() else { return None };
    let name = match argument {
        Expr::Cast { expr, data_type, .. } if data_type.to_string().eq_ignore_ascii_case("regclass") => expr,
        other => other,
    };
    match name {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(name) => Some(name.clone()),
            _ => None,
        },
        _ => None,
    }
}
