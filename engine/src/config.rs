//! What an operator decides when the server starts.

use crate::memory::Allocated;
use std::path::PathBuf;

/// The engine's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The data folder.
    pub data: PathBuf,
    /// RocksDB's block cache.
    pub block_cache_bytes: usize,
    /// How rows are sealed.
    pub cipher: storage::Cipher,
    /// What one query's dataflow may hold (53200 past it).
    pub query_memory_bytes_max: usize,
    /// `dogwood.view_memory` when the server starts: what one maintained view may hold, and all automatic ones together.
    /// Past it a view is marked failed or dropped, and its readers compute for themselves.
    pub view_memory_bytes_max: usize,
    /// `dogwood.subscription_memory` when the server starts: what may wait for all subscribers together. Past it those for
    /// whom most waits are cut (53400).
    pub subscription_memory_bytes_max: usize,
    /// Asks the program's allocator, where it can tell.
    pub allocator: Option<fn() -> Allocated>,
}

impl Config {
    /// The defaults for a data folder.
    pub fn new(data: PathBuf) -> Config {
        Config {
            data,
            block_cache_bytes: 256 << 20,
            cipher: storage::Cipher::Aegis256,
            query_memory_bytes_max: 1 << 30,
            view_memory_bytes_max: 1 << 30,
            subscription_memory_bytes_max: 256 << 20,
            allocator: None,
        }
    }
}
