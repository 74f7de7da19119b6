//! What sessions see and do: formats, limits, defaults of transactions, and settings of our own.

use crate::settings::server::{
    AUDIT_RETENTION, ERASURE_RATE, KEY_ROTATION, SERVER_MEMORY, SUBSCRIPTION_MEMORY, VIEW_MEMORY,
};
use crate::settings::table::{
    KnownSetting, SettingKind, TextKind, Words, boolean, fixed, integer, one_of, text, words, words_with_switch,
};
use crate::settings::unit::Unit;

const DOGWOOD: &str = "Dogwood";
const ENCRYPTION: &str = "Connections and Authentication / SSL";
const LOCALE: &str = "Client Connection Defaults / Locale and Formatting";
const LOG: &str = "Write-Ahead Log / Settings";
const LOGGED: &str = "Reporting and Logging / What to Log";
const LOGGED_WHEN: &str = "Reporting and Logging / When to Log";
const MEMORY: &str = "Resource Usage / Memory";
const PLATFORM: &str = "Version and Platform Compatibility / Other Platforms and Clients";
const PRESET: &str = "Preset Options";
const PREVIOUS: &str = "Version and Platform Compatibility / Previous PostgreSQL Versions";
const STATEMENT: &str = "Client Connection Defaults / Statement Behavior";
const UNGROUPED: &str = "Ungrouped";

const BACKSLASH_QUOTES: Words = words_with_switch(&["safe_encoding", "on", "off"]);
const BYTEA_OUTPUTS: Words = words(&["escape", "hex"]);
const COMPRESSIONS: Words = words(&["pglz", "lz4"]);
const INTERVAL_STYLES: Words = words(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]);
const ISOLATION_LEVELS: Words = words(&["serializable", "repeatable read", "read committed", "read uncommitted"]);
const MESSAGE_LEVELS: Words = Words {
    shown: &["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"],
    others: &[("debug", "debug2"), ("info", "info")],
};
const REPLICATION_ROLES: Words = words(&["origin", "replica", "local"]);
const AUDIT_MODES: Words = words(&["off", "batched", "strict"]);
const SYNCHRONOUS_COMMITS: Words = words_with_switch(&["local", "remote_write", "remote_apply", "on", "off"]);
const XML_BINARIES: Words = words(&["base64", "hex"]);
const XML_OPTIONS: Words = words(&["content", "document"]);

/// Sorted by name. rustfmt would make six lines of each.
#[rustfmt::skip]
pub(super) static KNOWN: &[KnownSetting] = &[
    text("application_name", "", TextKind::Name, LOGGED, "Sets the application name to be reported in statistics and logs."),
    boolean("array_nulls", "on", PREVIOUS, "Enable input of NULL elements in arrays.").further("When turned on, unquoted NULL in an array input value means a null value; otherwise it is taken literally.").only_default(),
    one_of("backslash_quote", "safe_encoding", &BACKSLASH_QUOTES, PREVIOUS, "Sets whether \"\\'\" is allowed in string literals."),
    one_of("bytea_output", "hex", &BYTEA_OUTPUTS, STATEMENT, "Sets the output format for bytea."),
    boolean("check_function_bodies", "on", STATEMENT, "Check routine bodies during CREATE FUNCTION and CREATE PROCEDURE."),
    text("client_encoding", "UTF8", TextKind::Encoding, LOCALE, "Sets the client's character set encoding."),
    one_of("client_min_messages", "notice", &MESSAGE_LEVELS, STATEMENT, "Sets the message levels that are sent to the client.").further("Each level includes all the levels that follow it. The later the level, the fewer messages are sent."),
    text("DateStyle", "ISO, MDY", TextKind::DateStyle, LOCALE, "Sets the display format for date and time values.").further("Also controls interpretation of ambiguous date inputs."),
    text("default_table_access_method", "heap", TextKind::AccessMethod, STATEMENT, "Sets the default table access method for new tables."),
    text("default_tablespace", "", TextKind::Tablespace, STATEMENT, "Sets the default tablespace to create tables and indexes in.").further("An empty string selects the database's default tablespace."),
    text("default_text_search_config", "pg_catalog.english", TextKind::SearchConfiguration, LOCALE, "Sets default text search configuration."),
    one_of("default_toast_compression", "pglz", &COMPRESSIONS, STATEMENT, "Sets the default compression method for compressible values."),
    boolean("default_transaction_deferrable", "off", STATEMENT, "Sets the default deferrable status of new transactions."),
    one_of("default_transaction_isolation", "read committed", &ISOLATION_LEVELS, STATEMENT, "Sets the transaction isolation level of each new transaction."),
    boolean("default_transaction_read_only", "off", STATEMENT, "Sets the default read-only status of new transactions."),
    one_of("dogwood.audit", "batched", &AUDIT_MODES, DOGWOOD, "Sets how sure the audit log is of what sessions do.").further("With strict a statement is answered once what it did is on the disk; with off only erasures are recorded.").of_definers(),
    integer(AUDIT_RETENTION, "0", Unit::Minutes, (0, i32::MAX), DOGWOOD, "Sets how old entries of the audit log become before they are dropped.").further("A value of 0 keeps them for ever.").of_definers(),
    boolean("dogwood.auto_views", "on", DOGWOOD, "Lets queries that come again be answered by views that are kept for them."),
    integer(ERASURE_RATE, "65536", Unit::Kilobytes, (64, i32::MAX), DOGWOOD, "Sets how many bytes of files erasures may have rewritten in a second."),
    integer("dogwood.forget_wait", "1000", Unit::Milliseconds, (0, i32::MAX), DOGWOOD, "Sets how long an erasure waits for others to end by themselves."),
    integer(KEY_ROTATION, "43200", Unit::Minutes, (0, i32::MAX), DOGWOOD, "Sets after how long the key-encryption key is replaced.").further("A value of 0 turns this off."),
    fixed("dogwood.last_flushes", "", SettingKind::Text(TextKind::Anything), DOGWOOD, "Shows how long the last commit waited for the log and the keys.").hidden(),
    text("dogwood.purpose", "", TextKind::Purpose, DOGWOOD, "Sets for which purpose data are used.").further("Whoever is a processor sees of rows that say what they are for only those that are for this."),
    text("dogwood.regions", "", TextKind::Anything, DOGWOOD, "Sets in which regions rows may be kept, divided by commas.").further("An empty string allows each.").of_definers(),
    boolean("dogwood.restoring", "off", DOGWOOD, "Lets rows come before the labels that say whose they are."),
    integer(SUBSCRIPTION_MEMORY, "262144", Unit::Kilobytes, (64, i32::MAX), DOGWOOD, "Sets what may wait for all subscribers together."),
    boolean("dogwood.suppress_forgotten", "off", DOGWOOD, "Refuses people who were forgotten, so that an import does not bring them back."),
    integer(VIEW_MEMORY, "1048576", Unit::Kilobytes, (64, i32::MAX), DOGWOOD, "Sets what automatic views may hold together, and any view alone."),
    boolean("escape_string_warning", "on", PREVIOUS, "Warn about backslash escapes in ordinary string literals."),
    integer("extra_float_digits", "1", Unit::None, (-15, 3), LOCALE, "Sets the number of digits displayed for floating-point values.").further("This affects real, double precision, and geometric data types. A zero or negative parameter value is added to the standard number of digits (FLT_DIG or DBL_DIG as appropriate). Any value greater than zero selects precise output mode."),
    integer("idle_in_transaction_session_timeout", "60000", Unit::Milliseconds, (0, i32::MAX), STATEMENT, "Sets the maximum allowed idle time between queries, when in a transaction.").further("A value of 0 turns off the timeout."),
    integer("idle_session_timeout", "0", Unit::Milliseconds, (0, i32::MAX), STATEMENT, "Sets the maximum allowed idle time between queries, when not in a transaction.").further("A value of 0 turns off the timeout."),
    fixed("in_hot_standby", "off", SettingKind::Bool, PRESET, "Shows whether hot standby is currently active."),
    fixed("integer_datetimes", "on", SettingKind::Bool, PRESET, "Shows whether datetimes are integer based."),
    one_of("IntervalStyle", "postgres", &INTERVAL_STYLES, LOCALE, "Sets the display format for interval values."),
    fixed("is_superuser", "off", SettingKind::Bool, PRESET, "Shows whether the current user is a superuser.").hidden(),
    fixed("lc_collate", "C", SettingKind::Text(TextKind::Anything), PRESET, "Shows the collation order locale."),
    fixed("lc_ctype", "C.UTF-8", SettingKind::Text(TextKind::Anything), PRESET, "Shows the character classification and case conversion locale."),
    text("lc_messages", "C", TextKind::Locale, LOCALE, "Sets the language in which messages are displayed."),
    text("lc_monetary", "C", TextKind::Locale, LOCALE, "Sets the locale for formatting monetary amounts."),
    text("lc_numeric", "C", TextKind::Locale, LOCALE, "Sets the locale for formatting numbers."),
    text("lc_time", "C", TextKind::Locale, LOCALE, "Sets the locale for formatting date and time values."),
    integer("lock_timeout", "0", Unit::Milliseconds, (0, i32::MAX), STATEMENT, "Sets the maximum allowed duration of any wait for a lock.").further("A value of 0 turns off the timeout."),
    boolean("log_connections", "off", LOGGED, "Logs each successful connection.").of_start(),
    boolean("log_disconnections", "off", LOGGED, "Logs end of a session, including duration.").of_start(),
    integer("log_min_duration_statement", "-1", Unit::Milliseconds, (-1, i32::MAX), LOGGED_WHEN, "Sets the minimum execution time above which all statements will be logged.").further("Zero prints all queries. -1 turns this feature off."),
    fixed("max_identifier_length", "63", SettingKind::Integer(Unit::None, 63, 63), PRESET, "Shows the maximum identifier length."),
    fixed("max_index_keys", "32", SettingKind::Integer(Unit::None, 32, 32), PRESET, "Shows the maximum number of index keys."),
    boolean("quote_all_identifiers", "off", PREVIOUS, "When generating SQL fragments, quote all identifiers.").only_default(),
    text("role", "none", TextKind::Role, UNGROUPED, "Sets the current role.").hidden(),
    boolean("row_security", "on", STATEMENT, "Enable row security.").further("When enabled, row security will be applied to all users."),
    text("search_path", "\"$user\", public", TextKind::SearchPath, STATEMENT, "Sets the schema search order for names that are not schema-qualified."),
    fixed("server_encoding", "UTF8", SettingKind::Text(TextKind::Anything), PRESET, "Shows the server (database) character set encoding."),
    integer(SERVER_MEMORY, "4194304", Unit::Kilobytes, (64, i32::MAX), MEMORY, "Sets what all sessions may hold together."),
    fixed("server_version", "15.8", SettingKind::Text(TextKind::Anything), PRESET, "Shows the server version."),
    fixed("server_version_num", "150008", SettingKind::Integer(Unit::None, 150008, 150008), PRESET, "Shows the server version as an integer."),
    text("session_authorization", "", TextKind::SessionUser, UNGROUPED, "Sets the session user name.").hidden(),
    one_of("session_replication_role", "origin", &REPLICATION_ROLES, STATEMENT, "Sets the session's behavior for triggers and rewrite rules.").only_default(),
    fixed("ssl", "off", SettingKind::Bool, ENCRYPTION, "Enables SSL connections."),
    boolean("standard_conforming_strings", "on", PREVIOUS, "Causes '...' strings to treat backslashes literally."),
    integer("statement_memory", "1048576", Unit::Kilobytes, (64, i32::MAX), MEMORY, "Sets what one statement may hold."),
    integer("statement_timeout", "30000", Unit::Milliseconds, (0, i32::MAX), STATEMENT, "Sets the maximum allowed duration of any statement.").further("A value of 0 turns off the timeout."),
    boolean("synchronize_seqscans", "on", PREVIOUS, "Enable synchronized sequential scans."),
    one_of("synchronous_commit", "on", &SYNCHRONOUS_COMMITS, LOG, "Sets the current transaction's synchronization level."),
    text("temp_tablespaces", "", TextKind::Tablespaces, STATEMENT, "Sets the tablespace(s) to use for temporary tables and sort files."),
    text("TimeZone", "UTC", TextKind::Zone, LOCALE, "Sets the time zone for displaying and interpreting time stamps."),
    boolean("transaction_deferrable", "off", STATEMENT, "Whether to defer a read-only serializable transaction until it can be executed with no possible serialization failures."),
    one_of("transaction_isolation", "read committed", &ISOLATION_LEVELS, STATEMENT, "Sets the current transaction's isolation level."),
    boolean("transaction_read_only", "off", STATEMENT, "Sets the current transaction's read-only status."),
    integer("transaction_timeout", "0", Unit::Milliseconds, (0, i32::MAX), STATEMENT, "Sets the maximum allowed duration of any transaction.").further("A value of 0 turns off the timeout."),
    boolean("transform_null_equals", "off", PLATFORM, "Treats \"expr=NULL\" as \"expr IS NULL\".").further("When turned on, expressions of the form expr = NULL (or NULL = expr) are treated as expr IS NULL, that is, they return true if expr evaluates to the null value, and false otherwise. The correct behavior of expr = NULL is to always return null (unknown).").only_default(),
    one_of("xmlbinary", "base64", &XML_BINARIES, STATEMENT, "Sets how binary values are to be encoded in XML."),
    one_of("xmloption", "content", &XML_OPTIONS, STATEMENT, "Sets whether XML data in implicit parsing and serialization operations is to be considered as documents or content fragments."),
];
