//! Items that a path is at: lent by the document they stand in, or made on the way.

use repr::to_char::Moment;
use repr::{Jsonb, Numeric};

/// An item of its own.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Json(Jsonb),
    /// What `.datetime()` gives.
    Moment(Moment),
}

/// An item where it stands.
#[derive(Clone, Copy)]
pub(super) enum View<'v> {
    Json(&'v Jsonb),
    Moment(&'v Moment),
}

impl Item {
    /// As a result has it.
    pub(super) fn into_document(self) -> Jsonb {
        match self {
            Item::Json(value) => value,
            Item::Moment(moment) => Jsonb::string(moment.to_text()),
        }
    }

    pub(super) fn view(&self) -> View<'_> {
        match self {
            Item::Json(value) => View::Json(value),
            Item::Moment(moment) => View::Moment(moment),
        }
    }

    /// The number, if it is one.
    pub(super) fn number(&self) -> Option<&Numeric> {
        match self {
            Item::Json(Jsonb::Number(number)) => Some(number),
            Item::Json(_) | Item::Moment(_) => None,
        }
    }
}

impl<'v> View<'v> {
    pub(super) fn to_item(self) -> Item {
        match self {
            View::Json(value) => Item::Json(value.clone()),
            View::Moment(moment) => Item::Moment(*moment),
        }
    }

    /// The elements of an array.
    pub(super) fn elements(self) -> Option<&'v [Jsonb]> {
        match self {
            View::Json(Jsonb::Array(elements)) => Some(elements),
            View::Json(_) | View::Moment(_) => None,
        }
    }

    /// `.type()`
    pub(super) fn type_name(self) -> &'static str {
        match self {
            View::Json(value) => value.type_name(),
            View::Moment(moment) => moment.type_name(),
        }
    }
}

/// How many elements or values stand in a container.
pub(super) fn size(container: &Jsonb) -> usize {
    match container {
        Jsonb::Array(elements) => elements.len(),
        Jsonb::Object(pairs) => pairs.len(),
        Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::String(_) => 0,
    }
}

/// One of them.
pub(super) fn child(container: &Jsonb, index: usize) -> Option<&Jsonb> {
    match container {
        Jsonb::Array(elements) => elements.get(index),
        Jsonb::Object(pairs) => pairs.get(index).map(|(_, value)| value),
        Jsonb::Null | Jsonb::Bool(_) | Jsonb::Number(_) | Jsonb::String(_) => None,
    }
}
