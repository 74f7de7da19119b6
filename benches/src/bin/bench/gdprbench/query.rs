//! The queries of GDPRbench (VLDB 2020, section 3.3), and how its four workloads mix them (its table 2).

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// CREATE-RECORD
    Create,
    /// DELETE-RECORD-BY-PUR
    DeleteByPurpose,
    /// DELETE-RECORD-BY-TTL
    DeleteExpired,
    /// DELETE-RECORD-BY-USR
    DeleteByUser,
    /// DELETE-RECORD-BY-KEY
    DeleteByKey,
    /// UPDATE-METADATA-BY-PUR
    MetadataByPurpose,
    /// UPDATE-METADATA-BY-USR
    MetadataByUser,
    /// UPDATE-METADATA-BY-SHR
    MetadataBySharing,
    /// UPDATE-METADATA-BY-KEY
    MetadataByKey,
    /// UPDATE-DATA-BY-KEY
    UpdateByKey,
    /// READ-DATA-BY-KEY
    ReadByKey,
    /// READ-DATA-BY-USR
    ReadByUser,
    /// READ-DATA-BY-PUR
    ReadByPurpose,
    /// READ-DATA-BY-OBJ
    ReadByObjection,
    /// READ-DATA-BY-DEC
    ReadByDecision,
    /// READ-METADATA-BY-KEY
    ReadMetadataByKey,
    /// READ-METADATA-BY-USR
    ReadMetadataByUser,
    /// GET-SYSTEM-LOGS
    Logs,
    /// VERIFY-DELETION
    VerifyDeletion,
}

use Query::{
    Create, DeleteByKey, DeleteByPurpose, DeleteByUser, DeleteExpired, Logs, MetadataByKey, MetadataByPurpose,
    MetadataBySharing, MetadataByUser, ReadByDecision, ReadByKey, ReadByObjection, ReadByPurpose, ReadByUser,
    ReadMetadataByKey, ReadMetadataByUser, UpdateByKey, VerifyDeletion,
};

/// All of them with their names and their statements, the same for all systems; no statement where systems differ.
pub const QUERIES: [(Query, &str, &str); 19] = [
    (
        Create,
        "create record",
        "INSERT INTO records (key, data, usr, pur, ttl, obj, dec, shr, src) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'first-party')",
    ),
    (DeleteByPurpose, "delete by purpose", "DELETE FROM records WHERE pur = $1"),
    (DeleteExpired, "delete what has expired", "DELETE FROM records WHERE ttl >= $1 AND ttl <= $2"),
    (DeleteByUser, "erase a user", ""),
    (DeleteByKey, "delete by key", "DELETE FROM records WHERE key = $1"),
    (MetadataByPurpose, "update metadata by purpose", "UPDATE records SET shr = $2 WHERE pur = $1"),
    (MetadataByUser, "update metadata by user", "UPDATE records SET obj = $2 WHERE usr = $1"),
    (MetadataBySharing, "update metadata by sharing", "UPDATE records SET dec = $2 WHERE shr = $1"),
    (MetadataByKey, "update metadata by key", "UPDATE records SET obj = $2 WHERE key = $1"),
    (UpdateByKey, "update data by key", "UPDATE records SET data = $2 WHERE key = $1"),
    (ReadByKey, "read data by key", "SELECT key, data FROM records WHERE key = $1"),
    (ReadByUser, "read data by user", "SELECT key, data FROM records WHERE usr = $1"),
    (ReadByPurpose, "read data by purpose", "SELECT key, data FROM records WHERE pur = $1"),
    (ReadByObjection, "read data by objection", "SELECT key, data FROM records WHERE obj = $1"),
    (ReadByDecision, "read data by decision", "SELECT key, data FROM records WHERE dec = $1"),
    (
        ReadMetadataByKey,
        "read metadata by key",
        "SELECT key, pur || ',' || obj || ',' || dec || ',' || shr || ',' || ttl FROM records WHERE key = $1",
    ),
    (
        ReadMetadataByUser,
        "read metadata by user",
        "SELECT key, pur || ',' || obj || ',' || dec || ',' || shr || ',' || ttl FROM records WHERE usr = $1",
    ),
    (Logs, "get system logs", ""),
    (VerifyDeletion, "verify a deletion", "SELECT key, data FROM records WHERE key = $1"),
];

/// One of the four.
pub struct Role {
    /// Whose queries.
    pub name: &'static str,
    /// Whether records are drawn by Zipf's distribution, else all alike.
    pub skewed: bool,
    /// How often each comes.
    pub queries: &'static [(u64, Query)],
}

/// In the order in which they run.
pub const ROLES: [Role; 4] = [
    Role {
        name: "controller",
        skewed: false,
        queries: &[
            (75, Create),
            (25, DeleteByPurpose),
            (25, DeleteExpired),
            (25, DeleteByUser),
            (50, MetadataByPurpose),
            (50, MetadataByUser),
            (50, MetadataBySharing),
        ],
    },
    Role {
        name: "customer",
        skewed: true,
        queries: &[
            (20, ReadByUser),
            (20, ReadMetadataByKey),
            (20, UpdateByKey),
            (20, MetadataByKey),
            (20, DeleteByKey),
        ],
    },
    Role {
        name: "processor",
        skewed: true,
        queries: &[(240, ReadByKey), (20, ReadByPurpose), (20, ReadByObjection), (20, ReadByDecision)],
    },
    Role { name: "regulator", skewed: true, queries: &[(46, ReadMetadataByUser), (31, Logs), (23, VerifyDeletion)] },
];
