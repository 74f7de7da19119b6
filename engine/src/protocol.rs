//! What `wire` says to the engine and hears from it: plain values, no sockets, no async.
//!
//! The order of calls for one statement: `Session::parse` → `prepare` → `execute` → (rows are pulled)
//! → `complete` at the end of a simple query string or at Sync. An error goes through `Session::fail`.

pub use crate::response::{Response, RowStream, RowTag, TransactionStatus};
pub use crate::session::async_commit::{Answered, Apart};
pub use crate::session::client::PortalFetch;
pub use crate::session::copy::{CopyContent, CopyFormat, CopyIn, Forced};
pub use crate::session::plan::Prepared;
pub use crate::session::result_columns::{ResultColumns, differ, result_changed};
pub use crate::session::statement_path::{StatementPath, StatementShape};
pub use crate::session::statement_shapes::{KnownText, Sent, Unlearned};
pub use crate::session::statements::Stored;
pub use crate::session::subscribed::{Changed, Readiness, Subscribed, Told};
pub use crate::session::{ConnectOptions, Session};
pub use planner::hir::OutputColumn;
pub use planner::parse::utility::{CopyHeader, CopyLayout};
pub use planner::scalar::{ListedConnection, ListedTls};
pub use state::answer::{AnswerRow, QueryRows};
pub use state::cancel::CancelFlag;
pub use state::error::Routine;
pub use state::login_rules::{AskedOfServer, ListedIdentity, ListedRule, ShownRule};
pub use state::notice::Notice;
pub use state::notifications::{Caller, Notification};
pub use state::snapshot_holders::Signals;
