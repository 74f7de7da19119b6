//! Where the process's memory is: its parts against the resident set, as `dogwood.memory` shows them.
//!
//! Parts count what they hold themselves; the allocator says what is allocated in all, and the system what is
//! resident. What no part explains is shown as such, never spread over the others.

use crate::database::Database;
pub use state::config::{Allocated, installed_bytes};
use state::notifications::QUEUE_BYTES_MAX;
use state::view_states::ViewState;

/// One part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPart {
    /// Its name.
    pub name: &'static str,
    /// The part that it belongs to.
    pub within: Option<&'static str>,
    /// What it holds.
    pub bytes: usize,
    /// What it may hold, where that is bounded.
    pub bytes_max: Option<usize>,
}

const RESIDENT: &str = "resident set";
const HEAP: &str = "heap";
const ALLOCATED: &str = "allocated";

/// All parts, the whole first.
pub fn parts(database: &Database) -> Vec<MemoryPart> {
    let system = System::read();
    let mut parts = vec![MemoryPart { name: RESIDENT, within: None, bytes: system.resident_bytes, bytes_max: None }];
    let within = |whole, name, bytes, bytes_max| MemoryPart { name, within: Some(whole), bytes, bytes_max };
    parts.push(within(RESIDENT, "program and files", system.file_bytes, None));
    let holding = holding(database);
    let held: usize = holding.iter().map(|(_, bytes, _)| bytes).sum();
    let allocated = database.config.allocator.map(|read| read());
    if let Some(allocated) = allocated {
        parts.push(within(RESIDENT, HEAP, allocated.resident_bytes, None));
        let slack = allocated.resident_bytes.saturating_sub(allocated.allocated_bytes);
        parts.push(within(HEAP, "free or slack", slack, None));
        parts.push(within(HEAP, ALLOCATED, allocated.allocated_bytes, None));
    }
    let whole = if allocated.is_some() { ALLOCATED } else { RESIDENT };
    parts.extend(holding.into_iter().map(|(name, bytes, bytes_max)| within(whole, name, bytes, bytes_max)));
    let rest = match allocated {
        Some(allocated) => allocated.allocated_bytes,
        None => system.resident_bytes.saturating_sub(system.file_bytes),
    };
    parts.push(within(whole, "everything else", rest.saturating_sub(held), None));
    parts
}

/// What caches hold that fill while statements run.
pub fn cached_bytes(database: &Database) -> usize {
    let store = database.store.statistics();
    let parts = [
        store.block_cache_bytes,
        store.key_cache_bytes,
        store.subject_cache_bytes,
        store.read_cache_bytes,
        store.told_bytes,
        store.hash_memory_bytes,
    ];
    usize::try_from(parts.into_iter().sum::<u64>()).unwrap_or(usize::MAX)
}

/// What is allocated and no part accounts for: what sessions hold, running or not. Nothing where the allocator does not tell.
pub(crate) fn sessions_bytes(database: &Database) -> usize {
    let Some(read) = database.config.allocator else { return 0 };
    let allocated = read().allocated_bytes;
    // The parts take longer to ask.
    if allocated <= database.sessions.settings.server_memory.bytes() {
        return allocated;
    }
    allocated.saturating_sub(holding(database).iter().map(|(_, bytes, _)| bytes).sum())
}

/// (part, bytes, bound) of what counts itself.
fn holding(database: &Database) -> Vec<(&'static str, usize, Option<usize>)> {
    let store = database.store.statistics();
    let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let views = &database.published.load().views;
    let order = |state: &ViewState| state.order.as_ref().map_or(0, |order| order.entries.bytes());
    let orders: usize = views.iter().map(|(_, state)| order(state)).sum();
    let arrangements: usize = views.iter().map(|(_, state)| state.bytes() - state.dataflow_bytes - order(state)).sum();
    let dataflows: usize = views.iter().map(|(_, state)| state.dataflow_bytes).sum();
    vec![
        ("block cache", bytes(store.block_cache_bytes), Some(database.config.block_cache_bytes)),
        ("write buffers", bytes(store.memtable_bytes), Some(bytes(store.memtable_bytes_max))),
        ("data keys", bytes(store.key_cache_bytes), Some(bytes(store.key_cache_bytes_max))),
        ("data subjects", bytes(store.subject_cache_bytes), None),
        ("opened rows", bytes(store.read_cache_bytes), Some(bytes(store.read_cache_bytes_max))),
        ("registers", bytes(store.told_bytes), Some(bytes(store.told_bytes_max))),
        ("keyed hashes", bytes(store.hash_memory_bytes), None),
        ("view arrangements", arrangements, None),
        ("view dataflows", dataflows, None),
        ("ordered indexes", orders, None),
        (
            "subscription queues",
            database.views.subscriptions.queued_bytes(),
            Some(database.sessions.settings.subscription_memory.bytes()),
        ),
        ("subscription histories", database.views.subscriptions.history_bytes(), None),
        ("notifications", database.sessions.exchange.notifications.waiting_bytes(), Some(QUEUE_BYTES_MAX)),
    ]
}

/// What Linux says of the process; zeros elsewhere.
#[derive(Default)]
struct System {
    resident_bytes: usize,
    file_bytes: usize,
}

impl System {
    fn read() -> System {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return System::default() };
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
            kilobytes.map_or(0, |kilobytes| kilobytes << 10)
        };
        System { resident_bytes: field("VmRSS"), file_bytes: field("RssFile") + field("RssShmem") }
    }
}
