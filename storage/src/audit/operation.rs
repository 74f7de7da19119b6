//! What an entry of the log says: who did what, and how far that is known.

use std::net::IpAddr;

use repr::Id;

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $tag:literal,)*) => {
        /// What was done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum AuditOperation {
            $($(#[$doc])* $name = $tag,)*
        }
        impl AuditOperation {
            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(AuditOperation::$name => stringify!($name),)*
                }
            }
            pub(crate) fn from_tag(tag: u8) -> Option<AuditOperation> {
                match tag {
                    $($tag => Some(AuditOperation::$name),)*
                    _ => None,
                }
            }
        }
    };
}

operations! {
    /// A session began.
    Connect = 1,
    /// Personal data was read.
    Select = 2,
    /// Rows were inserted.
    Insert = 3,
    /// Rows were changed.
    Update = 4,
    /// Rows were deleted.
    Delete = 5,
    /// A subject's access request.
    Get = 6,
    /// A subject's erasure request.
    Forget = 7,
    /// The schema, an annotation or a policy changed.
    Define = 8,
    /// A role or a permission changed.
    Grant = 9,
    /// A subscription to a view began.
    Subscribe = 10,
    /// A backup, a restore, a rotation.
    Maintain = 11,
    /// Something was refused.
    Refuse = 12,
    /// A person's data was handed out in a document.
    Export = 13,
    /// Rows of several kinds were written at once.
    Merge = 14,
    /// Rows were copied into a table.
    Copy = 15,
    /// A login was refused.
    Reject = 16,
    /// What a subscription was given.
    Deliver = 17,
    /// A table was emptied.
    Truncate = 18,
    /// An erasure was taken back.
    Unforget = 19,
    /// The use of a person's data was restricted, or is so no more.
    Restrict = 20,
    /// A subject's request was entered or answered.
    Request = 21,
    /// Where another database's log ended was entered.
    Refer = 22,
    /// A person's data key was replaced.
    Rekey = 23,
}

/// Who did something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AuditActor {
    /// The login's role. Names are ids here: a login can be a person's e-mail address.
    pub login: Id,
    /// The role that it acted as.
    pub role: Id,
    /// For which declared purpose: its id.
    pub purpose: Option<Id>,
    /// From where, if not by a socket of the machine's own.
    pub address: Option<IpAddr>,
}

/// How what is said of people is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuditScope {
    /// Those who are listed may not be all whose data it was: whoever has rows in the tables may be among them.
    pub may_be_more: bool,
    /// It was taken back with its transaction.
    pub undone: bool,
}
