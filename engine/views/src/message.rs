//! What view workers are told, in commit order.

use crate::component::CommitGroup;
use crate::dataflow::Definition;
use crate::inspection::InspectedOperator;
use crate::ordered_index::OrderedBy;
use crate::placement::Placements;
use repr::RelationId;
use state::published::Published;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The start counts as a structural message: before a worker has said what its views read, nobody knows whom a commit concerns.
pub const START: u64 = 1;

/// What the flush thread tells a view worker, in commit order.
pub enum Message {
    /// Commit groups were written.
    Group(CommitGroup),
    /// A view that no DDL made is wanted from this state on.
    Create(Box<Definition>, Arc<Published>),
    /// An ordered index is wanted from this state on.
    Order(RelationId, Box<OrderedBy>, Arc<Published>),
    /// A view or an ordered index is no longer wanted.
    Drop(RelationId, Arc<Published>),
    /// A view that has failed is filled again, from this state.
    Refill(RelationId, Arc<Published>),
    /// The catalog's views are kept so from the next message on.
    Place(Arc<Placements>),
    /// Views of the catalog have come to this worker, to be filled from this state.
    Adopt(Arc<Published>),
    /// Views of this worker are kept by another from this state on.
    Release(BTreeSet<RelationId>, Arc<Published>),
    /// What dataflows hold and took.
    Inspect(Sender<Vec<InspectedOperator>>),
    /// What views hold is merged whole, over this state: what was retracted is nowhere then. Heard once that is so.
    Merge(Sender<()>, Arc<Published>),
    /// The server stops: nothing is published any more.
    Stop,
}

impl Message {
    /// Whether other views may be read by it, or views may read other relations: whoever tells it waits for it to be heard
    /// before it relies on who reads what.
    pub fn is_structural(&self) -> bool {
        match self {
            Message::Group(group) => group.changes_schema(),
            Message::Create(..)
            | Message::Order(..)
            | Message::Drop(..)
            | Message::Refill(..)
            | Message::Adopt(..)
            | Message::Release(..) => true,
            Message::Place(_) | Message::Inspect(_) | Message::Merge(..) | Message::Stop => false,
        }
    }
}

/// See `Pipeline::view`.
pub enum ViewRequest {
    /// Make and fill it.
    Create(Box<Definition>),
    /// Make and fill an ordered index.
    Order(RelationId, Box<OrderedBy>),
    /// Drop it.
    Drop(RelationId),
    /// A view that has failed is filled again.
    Refill(RelationId),
    /// What do its dataflows hold, and what did they take? Answered once all before it is done.
    Inspect(Sender<Vec<InspectedOperator>>),
    /// All that views hold is merged: nothing of what was retracted is left. Each worker answers once that is done.
    Merge(Sender<()>),
}
