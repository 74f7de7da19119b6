//! What the view thread is told, in commit order.

use crate::dataflow::Definition;
use crate::inspection::InspectedOperator;
use crate::ordered_index::OrderedBy;
use repr::RelationId;
use state::overlay::Overlay;
use state::published::Published;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// What the flush thread tells the view thread, in commit order.
pub enum Message {
    /// Commit groups were written. Only one by itself erases people, truncates tables or changes the catalog.
    Group {
        /// The state before them; its views are not looked at.
        before: Arc<Published>,
        /// The state after them; likewise.
        after: Arc<Published>,
        /// The changes, in order.
        layers: Vec<Arc<Overlay>>,
    },
    /// A view that no DDL made is wanted from this state on.
    Create(Box<Definition>, Arc<Published>),
    /// An ordered index is wanted from this state on.
    Order(RelationId, Box<OrderedBy>, Arc<Published>),
    /// A view or an ordered index is no longer wanted.
    Drop(RelationId, Arc<Published>),
    /// A view that has failed is filled again, from this state.
    Refill(RelationId, Arc<Published>),
    /// What dataflows hold and took.
    Inspect(Sender<Vec<InspectedOperator>>),
    /// The server stops: nothing is published any more.
    Stop,
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
}
