//! What an operator decides when the server starts.

use std::path::PathBuf;

/// What the program's allocator says, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocated {
    /// Given out and not freed.
    pub allocated_bytes: usize,
    /// Taken from the system and not given back: allocations, their slack, and what is kept for the next.
    pub resident_bytes: usize,
}

/// So many where there are few processors: what one has to do for long shall not hold up the views of the others.
const VIEW_WORKERS_MIN: usize = 4;

/// The engine's configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// The data folder.
    pub data: PathBuf,
    /// Whether it is served, or only read as far as it can be.
    pub mode: storage::Mode,
    /// Where the root key is.
    pub root_key: storage::RootKeySource,
    /// RocksDB's block cache.
    pub block_cache_bytes: usize,
    /// What is kept free on the disk, if not as much as usual.
    pub keep_free_bytes: Option<u64>,
    /// How rows are sealed.
    pub cipher: storage::Cipher,
    /// `server_memory` when the server starts: what all sessions may hold together. Past it the statement that holds most is
    /// ended (53200), and nothing is kept for later.
    pub server_memory_bytes_max: usize,
    /// `dogwood.view_memory` when the server starts: what one maintained view may hold, and all automatic ones together.
    /// Past it a view is marked failed or dropped, and its readers compute for themselves.
    pub view_memory_bytes_max: usize,
    /// `dogwood.subscription_memory` when the server starts: what may wait for all subscribers together. Past it those for
    /// whom most waits are cut (53400).
    pub subscription_memory_bytes_max: usize,
    /// So much of what a statement writes is held in memory; the rest stands on the disk until COMMIT.
    pub held_bytes_max: usize,
    /// Threads that keep views up to date.
    pub view_workers: usize,
    /// Settings that all sessions begin with, by name.
    pub settings: Vec<(String, String)>,
    /// Asks the program's allocator, where it can tell.
    pub allocator: Option<fn() -> Allocated>,
}

impl Config {
    /// The defaults for a data folder.
    pub fn new(data: PathBuf) -> Config {
        Config {
            data,
            mode: storage::Mode::Serve,
            root_key: storage::RootKeySource::DataFolder,
            block_cache_bytes: 256 << 20,
            keep_free_bytes: None,
            cipher: storage::Cipher::Aegis256,
            server_memory_bytes_max: installed_bytes().map_or(4 << 30, |installed| installed / 2),
            view_memory_bytes_max: 1 << 30,
            subscription_memory_bytes_max: 256 << 20,
            held_bytes_max: 16 << 20,
            view_workers: VIEW_WORKERS_MIN.max(crate::parallel::processors().saturating_sub(1)),
            settings: Vec::new(),
            allocator: None,
        }
    }
}

/// The machine's memory, where Linux says it.
pub fn installed_bytes() -> Option<usize> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix(" kB")?.parse::<usize>().ok().map(|kilobytes| kilobytes << 10)
}
