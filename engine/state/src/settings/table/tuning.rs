//! What would tune PostgreSQL's planner, its memory and its VACUUM. None has an effect here, and none changes what a statement gives.

use crate::settings::table::{KnownSetting, Words, boolean, integer, one_of, real, words, words_with_switch};
use crate::settings::unit::Unit;

const ASYNCHRONOUS: &str = "Resource Usage / Asynchronous Behavior";
const COST: &str = "Query Tuning / Planner Cost Constants";
const DEVELOPER: &str = "Developer Options";
const GENETIC: &str = "Query Tuning / Genetic Query Optimizer";
const MEMORY: &str = "Resource Usage / Memory";
const METHOD: &str = "Query Tuning / Planner Method Configuration";
const PLANNER: &str = "Query Tuning / Other Planner Options";
const STATEMENT: &str = "Client Connection Defaults / Statement Behavior";
const VACUUM: &str = "Resource Usage / Cost-Based Vacuum Delay";

const CONSTRAINT_EXCLUSIONS: Words = words_with_switch(&["partition", "on", "off"]);
const PARALLEL_MODES: Words = words_with_switch(&["off", "on", "regress"]);
const PLAN_CACHE_MODES: Words = words(&["auto", "force_generic_plan", "force_custom_plan"]);

/// Sorted by name. rustfmt would make six lines of each.
#[rustfmt::skip]
pub(super) static KNOWN: &[KnownSetting] = &[
    one_of("constraint_exclusion", "partition", &CONSTRAINT_EXCLUSIONS, PLANNER, "Enables the planner to use constraints to optimize queries.").further("Table scans will be skipped if their constraints guarantee that no rows match the query."),
    real("cpu_index_tuple_cost", "0.005", Unit::None, (0.0, f64::MAX), COST, "Sets the planner's estimate of the cost of processing each index entry during an index scan."),
    real("cpu_operator_cost", "0.0025", Unit::None, (0.0, f64::MAX), COST, "Sets the planner's estimate of the cost of processing each operator or function call."),
    real("cpu_tuple_cost", "0.01", Unit::None, (0.0, f64::MAX), COST, "Sets the planner's estimate of the cost of processing each tuple (row)."),
    real("cursor_tuple_fraction", "0.1", Unit::None, (0.0, 1.0), PLANNER, "Sets the planner's estimate of the fraction of a cursor's rows that will be retrieved."),
    integer("default_statistics_target", "100", Unit::None, (1, 10000), PLANNER, "Sets the default statistics target.").further("This applies to table columns that have not had a column-specific target set via ALTER TABLE SET STATISTICS."),
    integer("effective_cache_size", "524288", Unit::Blocks, (1, i32::MAX), COST, "Sets the planner's assumption about the total size of the data caches.").further("That is, the total size of the caches (kernel cache and shared buffers) used for PostgreSQL data files. This is measured in disk pages, which are normally 8 kB each."),
    integer("effective_io_concurrency", "1", Unit::None, (0, 1000), ASYNCHRONOUS, "Number of simultaneous requests that can be handled efficiently by the disk subsystem."),
    boolean("enable_async_append", "on", METHOD, "Enables the planner's use of async append plans."),
    boolean("enable_bitmapscan", "on", METHOD, "Enables the planner's use of bitmap-scan plans."),
    boolean("enable_gathermerge", "on", METHOD, "Enables the planner's use of gather merge plans."),
    boolean("enable_hashagg", "on", METHOD, "Enables the planner's use of hashed aggregation plans."),
    boolean("enable_hashjoin", "on", METHOD, "Enables the planner's use of hash join plans."),
    boolean("enable_incremental_sort", "on", METHOD, "Enables the planner's use of incremental sort steps."),
    boolean("enable_indexonlyscan", "on", METHOD, "Enables the planner's use of index-only-scan plans."),
    boolean("enable_indexscan", "on", METHOD, "Enables the planner's use of index-scan plans."),
    boolean("enable_material", "on", METHOD, "Enables the planner's use of materialization."),
    boolean("enable_memoize", "on", METHOD, "Enables the planner's use of memoization."),
    boolean("enable_mergejoin", "on", METHOD, "Enables the planner's use of merge join plans."),
    boolean("enable_nestloop", "on", METHOD, "Enables the planner's use of nested-loop join plans."),
    boolean("enable_parallel_append", "on", METHOD, "Enables the planner's use of parallel append plans."),
    boolean("enable_parallel_hash", "on", METHOD, "Enables the planner's use of parallel hash plans."),
    boolean("enable_partition_pruning", "on", METHOD, "Enables plan-time and execution-time partition pruning.").further("Allows the query planner and executor to compare partition bounds to conditions in the query to determine which partitions must be scanned."),
    boolean("enable_partitionwise_aggregate", "off", METHOD, "Enables partitionwise aggregation and grouping."),
    boolean("enable_partitionwise_join", "off", METHOD, "Enables partitionwise join."),
    boolean("enable_seqscan", "on", METHOD, "Enables the planner's use of sequential-scan plans."),
    boolean("enable_sort", "on", METHOD, "Enables the planner's use of explicit sort steps."),
    boolean("enable_tidscan", "on", METHOD, "Enables the planner's use of TID scan plans."),
    one_of("force_parallel_mode", "off", &PARALLEL_MODES, DEVELOPER, "Forces use of parallel query facilities.").further("If possible, run query using a parallel worker and with parallel restrictions."),
    integer("from_collapse_limit", "8", Unit::None, (1, i32::MAX), PLANNER, "Sets the FROM-list size beyond which subqueries are not collapsed.").further("The planner will merge subqueries into upper queries if the resulting FROM list would have no more than this many items."),
    boolean("geqo", "on", GENETIC, "Enables genetic query optimization.").further("This algorithm attempts to do planning without exhaustive searching."),
    integer("geqo_effort", "5", Unit::None, (1, 10), GENETIC, "GEQO: effort is used to set the default for other GEQO parameters."),
    integer("geqo_generations", "0", Unit::None, (0, i32::MAX), GENETIC, "GEQO: number of iterations of the algorithm.").further("Zero selects a suitable default value."),
    integer("geqo_pool_size", "0", Unit::None, (0, i32::MAX), GENETIC, "GEQO: number of individuals in the population.").further("Zero selects a suitable default value."),
    real("geqo_seed", "0", Unit::None, (0.0, 1.0), GENETIC, "GEQO: seed for random path selection."),
    real("geqo_selection_bias", "2", Unit::None, (1.5, 2.0), GENETIC, "GEQO: selective pressure within the population."),
    integer("geqo_threshold", "12", Unit::None, (2, i32::MAX), GENETIC, "Sets the threshold of FROM items beyond which GEQO is used."),
    real("hash_mem_multiplier", "2", Unit::None, (1.0, 1000.0), MEMORY, "Multiple of work_mem to use for hash tables."),
    boolean("jit", "off", PLANNER, "Allow JIT compilation."),
    real("jit_above_cost", "100000", Unit::None, (-1.0, f64::MAX), COST, "Perform JIT compilation if query is more expensive.").further("-1 disables JIT compilation."),
    boolean("jit_expressions", "on", DEVELOPER, "Allow JIT compilation of expressions."),
    real("jit_inline_above_cost", "500000", Unit::None, (-1.0, f64::MAX), COST, "Perform JIT inlining if query is more expensive.").further("-1 disables inlining."),
    real("jit_optimize_above_cost", "500000", Unit::None, (-1.0, f64::MAX), COST, "Optimize JIT-compiled functions if query is more expensive.").further("-1 disables optimization."),
    boolean("jit_tuple_deforming", "on", DEVELOPER, "Allow JIT compilation of tuple deforming."),
    integer("join_collapse_limit", "8", Unit::None, (1, i32::MAX), PLANNER, "Sets the FROM-list size beyond which JOIN constructs are not flattened.").further("The planner will flatten explicit JOIN constructs into lists of FROM items whenever a list of no more than this many items would result."),
    integer("maintenance_io_concurrency", "10", Unit::None, (0, 1000), ASYNCHRONOUS, "A variant of effective_io_concurrency that is used for maintenance work."),
    integer("maintenance_work_mem", "65536", Unit::Kilobytes, (1024, i32::MAX), MEMORY, "Sets the maximum memory to be used for maintenance operations.").further("This includes operations such as VACUUM and CREATE INDEX."),
    integer("max_parallel_maintenance_workers", "2", Unit::None, (0, 1024), ASYNCHRONOUS, "Sets the maximum number of parallel processes per maintenance operation."),
    integer("max_parallel_workers", "8", Unit::None, (0, 1024), ASYNCHRONOUS, "Sets the maximum number of parallel workers that can be active at one time."),
    integer("max_parallel_workers_per_gather", "2", Unit::None, (0, 1024), ASYNCHRONOUS, "Sets the maximum number of parallel processes per executor node."),
    integer("min_parallel_index_scan_size", "64", Unit::Blocks, (0, 715827882), COST, "Sets the minimum amount of index data for a parallel scan.").further("If the planner estimates that it will read a number of index pages too small to reach this limit, a parallel scan will not be considered."),
    integer("min_parallel_table_scan_size", "1024", Unit::Blocks, (0, 715827882), COST, "Sets the minimum amount of table data for a parallel scan.").further("If the planner estimates that it will read a number of table pages too small to reach this limit, a parallel scan will not be considered."),
    boolean("parallel_leader_participation", "on", ASYNCHRONOUS, "Controls whether Gather and Gather Merge also run subplans.").further("Should gather nodes also run subplans or just gather tuples?"),
    real("parallel_setup_cost", "1000", Unit::None, (0.0, f64::MAX), COST, "Sets the planner's estimate of the cost of starting up worker processes for parallel query."),
    real("parallel_tuple_cost", "0.1", Unit::None, (0.0, f64::MAX), COST, "Sets the planner's estimate of the cost of passing each tuple (row) from worker to leader backend."),
    one_of("plan_cache_mode", "auto", &PLAN_CACHE_MODES, PLANNER, "Controls the planner's selection of custom or generic plan.").further("Prepared statements can have custom and generic plans, and the planner will attempt to choose which is better.  This can be set to override the default behavior."),
    real("random_page_cost", "4", Unit::None, (0.0, f64::MAX), COST, "Sets the planner's estimate of the cost of a nonsequentially fetched disk page."),
    real("recursive_worktable_factor", "10", Unit::None, (0.001, 1000000.0), PLANNER, "Sets the planner's estimate of the average size of a recursive query's working table."),
    real("seq_page_cost", "1", Unit::None, (0.0, f64::MAX), COST, "Sets the planner's estimate of the cost of a sequentially fetched disk page."),
    integer("temp_buffers", "1024", Unit::Blocks, (100, 1073741823), MEMORY, "Sets the maximum number of temporary buffers used by each session."),
    real("vacuum_cost_delay", "0", Unit::Milliseconds, (0.0, 100.0), VACUUM, "Vacuum cost delay in milliseconds."),
    integer("vacuum_cost_limit", "200", Unit::None, (1, 10000), VACUUM, "Vacuum cost amount available before napping."),
    integer("vacuum_cost_page_dirty", "20", Unit::None, (0, 10000), VACUUM, "Vacuum cost for a page dirtied by vacuum."),
    integer("vacuum_cost_page_hit", "1", Unit::None, (0, 10000), VACUUM, "Vacuum cost for a page found in the buffer cache."),
    integer("vacuum_cost_page_miss", "2", Unit::None, (0, 10000), VACUUM, "Vacuum cost for a page not found in the buffer cache."),
    integer("vacuum_failsafe_age", "1600000000", Unit::None, (0, 2100000000), STATEMENT, "Age at which VACUUM should trigger failsafe to avoid a wraparound outage."),
    integer("vacuum_freeze_min_age", "50000000", Unit::None, (0, 1000000000), STATEMENT, "Minimum age at which VACUUM should freeze a table row."),
    integer("vacuum_freeze_table_age", "150000000", Unit::None, (0, 2000000000), STATEMENT, "Age at which VACUUM should scan whole table to freeze tuples."),
    integer("vacuum_multixact_failsafe_age", "1600000000", Unit::None, (0, 2100000000), STATEMENT, "Multixact age at which VACUUM should trigger failsafe to avoid a wraparound outage."),
    integer("vacuum_multixact_freeze_min_age", "5000000", Unit::None, (0, 1000000000), STATEMENT, "Minimum age at which VACUUM should freeze a MultiXactId in a table row."),
    integer("vacuum_multixact_freeze_table_age", "150000000", Unit::None, (0, 2000000000), STATEMENT, "Multixact age at which VACUUM should scan whole table to freeze tuples."),
    integer("work_mem", "4096", Unit::Kilobytes, (64, i32::MAX), MEMORY, "Sets the maximum memory to be used for query workspaces.").further("This much memory can be used by each internal sort operation and hash table before switching to temporary disk files."),
];
