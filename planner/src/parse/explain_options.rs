//! What EXPLAIN is told: which rung of the ladder, how much of it, and in which form.

/// EXPLAIN's options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainOptions {
    /// Which rung of the planner's ladder.
    pub rung: Rung,
    /// ANALYZE
    pub analyze: bool,
    /// VERBOSE
    pub verbose: bool,
    /// COSTS: how many rows are expected; on unless said otherwise.
    pub costs: bool,
    /// TIMING: what each operator took; on unless said otherwise.
    pub timing: bool,
    /// SUMMARY: what the whole took; on with ANALYZE unless said otherwise.
    pub summary: bool,
    /// FORMAT
    pub format: ExplainFormat,
}

/// The rungs that EXPLAIN can print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// Names and types resolved.
    Resolved,
    /// Subqueries turned into joins.
    Lowered,
    /// After the rewrites.
    Optimized,
    /// The physical plan; the default.
    Physical,
}

/// EXPLAIN (FORMAT …).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    /// Indented lines.
    Text,
    /// JSON.
    Json,
    /// One XML document.
    Xml,
    /// One YAML document.
    Yaml,
}
