//! Settings as a session has them.

use super::{REPORTED, Settings, StartSource};
use planner::parse::utility::SetValue;
use std::time::Duration;

fn shown(settings: &Settings, name: &str) -> String {
    settings.show(name).unwrap().1
}

#[test]
fn values_are_shown_as_in_postgresql() {
    let mut settings = Settings::default();
    settings.force("session_authorization", "ada".to_string());
    for (name, value, expected) in [
        ("statement_timeout", "30000", "30s"),
        ("work_mem", "64MB", "64MB"),
        ("enable_sort", "YES", "on"),
        ("datestyle", "european, iso", "ISO, DMY"),
        ("datestyle", "german", "German, DMY"),
        ("datestyle", "sql", "SQL, DMY"),
        ("datestyle", "default", "ISO, MDY"),
        ("client_encoding", "utf-8", "UTF8"),
        ("client_encoding", "iso-8859-1", "LATIN1"),
        ("client_encoding", "UNICODE", "UNICODE"),
        ("client_encoding", "sql_ascii", "SQL_ASCII"),
        ("timezone", "europe/berlin", "Europe/Berlin"),
        ("timezone", "7", "<+07>-07"),
        ("timezone", "-3.5", "<-03:30>+03:30"),
        ("timezone", "0", "<+00>-00"),
        ("timezone", "INTERVAL '07:00:00'", "<+07>-07"),
        ("timezone", "foo3bar", "FOO3BAR"),
        ("timezone", "+07:00", "+07:00"),
        ("Synchronous_Commit", "false", "off"),
        ("application_name", "a\u{e9}", "a??"),
        ("role", "ada", "ada"),
        ("role", "none", "none"),
        ("session_authorization", "ada", "ada"),
        ("default_text_search_config", "English", "pg_catalog.english"),
        ("log_parameter_max_length", "2048", "2kB"),
        ("tcp_keepalives_idle", "120", "2min"),
        ("wal_compression", "yes", "on"),
        ("log_min_messages", "Debug", "debug2"),
        ("exit_on_error", "no", "off"),
        ("my.own", "Anything", "Anything"),
        ("My.Own.too", "Anything", "Anything"),
    ] {
        settings.set(name, Some(value), false).expect(value);
        assert_eq!(shown(&settings, name), expected, "{name} = {value}");
    }
    assert_eq!(settings.show("time zone").expect("known").0, "TimeZone");
    assert_eq!(settings.show("datestyle").expect("known").0, "DateStyle");
}

#[test]
fn what_is_wrong_is_refused() {
    let mut settings = Settings::default();
    for (name, value, code) in [
        ("no_such", "1", "42704"),
        ("dogwood.nothing", "nonsense", "42704"),
        ("dogwood.audit", "off", "42501"),
        ("a b.c", "1", "42602"),
        (".c", "1", "42602"),
        ("1a.c", "1", "42602"),
        ("server_version", "16", "55P02"),
        ("is_superuser", "on", "55P02"),
        ("client_encoding", "euc_tw", "0A000"),
        ("client_encoding", "foo", "22023"),
        ("datestyle", "Martian", "22023"),
        ("datestyle", "ISO,,MDY", "22023"),
        ("datestyle", "ISO, SQL", "22023"),
        ("timezone", "Mars/Olympus", "22023"),
        ("timezone", "CEST", "22023"),
        ("timezone", "168", "22023"),
        ("timezone", "interval '1 day'", "22023"),
        ("timezone", "interval '1 fortnight'", "22007"),
        ("statement_timeout", "-1", "22023"),
        ("extra_float_digits", "4", "22023"),
        ("enable_sort", "o", "22023"),
        ("standard_conforming_strings", "x", "22023"),
        ("bytea_output", "base64", "22023"),
        ("search_path", "a,,b", "22023"),
        ("default_tablespace", "x", "22023"),
        ("temp_tablespaces", "x", "42704"),
        ("lc_time", "xx", "22023"),
        ("port", "1", "55P02"),
        ("log_rotation_age", "1", "55P02"),
        ("ignore_system_indexes", "on", "55P02"),
        ("exit_on_error", "on", "0A000"),
        ("timezone_abbreviations", "India", "0A000"),
        ("log_statement", "some", "22023"),
        ("tcp_user_timeout", "1 fortnight", "22023"),
    ] {
        assert_eq!(settings.set(name, Some(value), false).expect_err(value).code, code, "{name} = {value}");
    }
    assert_eq!(settings.set("no_such", None, false).expect_err("unknown").code, "42704");
    assert_eq!(settings.set("server_version", None, false).expect_err("fixed").code, "55P02");
    let error = settings.show("No_such").expect_err("unknown");
    assert_eq!(error.message, "unrecognized configuration parameter \"No_such\"");
}

#[test]
fn several_values_make_a_list_where_there_may_be_one() {
    let settings = Settings::default();
    let text = |text: &str| SetValue::Text(text.to_string());
    let list = [text("a"), text("B"), text("select"), SetValue::Number("1".to_string())];
    assert_eq!(settings.value_of("search_path", &list).expect("a list"), "a, \"B\", \"select\", 1");
    assert_eq!(settings.value_of("search_path", &[text("a,b")]).expect("one"), "\"a,b\"");
    assert_eq!(settings.value_of("DateStyle", &[text("ISO"), text("dmy")]).expect("a list"), "ISO, dmy");
    let error = settings.value_of("work_mem", &list).expect_err("one only");
    assert_eq!((error.code, error.message.as_str()), ("22023", "SET work_mem takes only one argument"));
}

#[test]
fn a_clients_own_setting_stays_when_its_value_goes() {
    let mut settings = Settings::default();
    assert_eq!(settings.show("app.user").expect_err("never named").code, "42704");
    settings.set("app.user", Some("ada"), true).expect("a name with a dot");
    assert_eq!(shown(&settings, "app.user"), "ada");
    settings.end_transaction(true);
    assert_eq!(shown(&settings, "app.user"), "");
}

#[test]
fn the_end_of_a_transaction_takes_back_what_it_must() {
    let mut settings = Settings::default();
    let set = |settings: &mut Settings, value: &str, local| {
        settings.set("application_name", Some(value), local).unwrap();
    };
    set(&mut settings, "a", false);
    settings.end_transaction(true);
    set(&mut settings, "b", true);
    assert_eq!(shown(&settings, "application_name"), "b");
    settings.end_transaction(true);
    assert_eq!(shown(&settings, "application_name"), "a");
    set(&mut settings, "c", false);
    set(&mut settings, "d", true);
    settings.end_transaction(true);
    assert_eq!(shown(&settings, "application_name"), "c");
    set(&mut settings, "e", true);
    set(&mut settings, "f", false);
    settings.end_transaction(false);
    assert_eq!(shown(&settings, "application_name"), "c");
    set(&mut settings, "g", false);
    settings.reset_all();
    assert_eq!(shown(&settings, "application_name"), "");
    settings.end_transaction(false);
    assert_eq!(shown(&settings, "application_name"), "c");
    settings.reset_all();
    settings.end_transaction(true);
    assert_eq!(shown(&settings, "application_name"), "");
}

#[test]
fn a_savepoint_takes_back_what_was_set_after_it() {
    let mut settings = Settings::default();
    let set = |settings: &mut Settings, value: &str, local| {
        settings.set("application_name", Some(value), local).unwrap();
    };
    set(&mut settings, "a", false);
    settings.savepoint();
    settings.savepoint();
    set(&mut settings, "b", false);
    settings.savepoint();
    set(&mut settings, "c", true);
    let version = settings.version();
    settings.roll_back_to_savepoint(2);
    assert_eq!(shown(&settings, "application_name"), "b");
    assert!(settings.version() > version);
    settings.roll_back_to_savepoint(2);
    set(&mut settings, "d", true);
    settings.release_savepoint(2);
    assert_eq!(shown(&settings, "application_name"), "d");
    settings.roll_back_to_savepoint(1);
    assert_eq!(shown(&settings, "application_name"), "a");
    settings.reset_all();
    settings.roll_back_to_savepoint(0);
    assert_eq!(shown(&settings, "application_name"), "a");
    set(&mut settings, "e", true);
    settings.end_transaction(true);
    assert_eq!(shown(&settings, "application_name"), "a");
    settings.savepoint();
    settings.release_savepoint(0);
    set(&mut settings, "f", false);
    settings.end_transaction(false);
    assert_eq!(shown(&settings, "application_name"), "a");
}

#[test]
fn reset_goes_back_to_the_startup_packet() {
    let mut settings = Settings::default();
    settings.start("TimeZone", "Europe/Rome", StartSource::Client).unwrap();
    settings.set("timezone", Some("UTC"), false).unwrap();
    settings.set("timezone", None, false).unwrap();
    assert_eq!(shown(&settings, "timezone"), "Europe/Rome");
    settings.force("is_superuser", "on".to_string());
    assert!(settings.is_on("is_superuser"));
    assert_eq!(settings.start("server_version", "9", StartSource::Client).unwrap_err().code, "55P02");
    let reported = settings.reported();
    assert!(reported.contains(&("TimeZone".to_string(), "Europe/Rome".to_string())));
    assert_eq!(reported.len(), REPORTED.len());
    assert!(settings.all().iter().all(|[name, ..]| name != "is_superuser"));
    let listed = settings.listed();
    let zone = listed.iter().find(|listed| listed.name == "TimeZone").expect("listed");
    assert_eq!((zone.reset.as_str(), zone.default.as_str(), zone.source), ("Europe/Rome", "UTC", "client"));
}

#[test]
fn what_is_set_for_all_sessions_is_seen_by_all() {
    let server = std::sync::Arc::new(super::ServerSettings::new(1 << 30, 256 << 20, 4 << 30));
    let (mut one, mut other) = (Settings::default(), Settings::default());
    one.share(&server);
    other.share(&server);
    assert_eq!(shown(&one, "dogwood.view_memory"), "1GB");
    one.set("dogwood.view_memory", Some("64MB"), false).unwrap();
    one.end_transaction(false);
    assert_eq!(shown(&other, "dogwood.view_memory"), "64MB");
    assert_eq!(server.view_memory.bytes(), 64 << 20);
    assert_eq!(other.set("dogwood.view_memory", Some("1 fortnight"), false).unwrap_err().code, "22023");
    assert_eq!(other.set("dogwood.view_memory", Some("1GB"), true).unwrap_err().code, "0A000");
    assert_eq!(other.start("dogwood.view_memory", "1GB", StartSource::Client).unwrap_err().code, "55P02");
    other.reset_all();
    assert_eq!(shown(&one, "dogwood.view_memory"), "64MB");
    other.set("dogwood.subscription_memory", Some("1MB"), false).unwrap();
    assert_eq!(
        (shown(&one, "dogwood.subscription_memory").as_str(), server.subscription_memory.bytes()),
        ("1MB", 1 << 20)
    );
    other.set("dogwood.view_memory", None, false).unwrap();
    assert_eq!(shown(&one, "dogwood.view_memory"), "1GB");
}

#[test]
fn a_server_may_be_started_with_settings() {
    let given = |name: &str, value: &str| vec![(name.to_string(), value.to_string())];
    let server = || super::ServerSettings::new(1 << 30, 256 << 20, 4 << 30);
    let some =
        [given("log_min_duration_statement", "2s"), given("Log_Connections", "yes"), given("server_memory", "1GB")];
    let server_settings = std::sync::Arc::new(Settings::of_server(&some.concat(), server()).expect("known"));
    let mut session = Settings::default();
    session.share(&server_settings);
    assert_eq!(shown(&session, "log_min_duration_statement"), "2s");
    assert_eq!(session.log_min_duration(), Some(Duration::from_secs(2)));
    assert_eq!((shown(&session, "server_memory").as_str(), session.is_on("log_connections")), ("1GB", true));
    session.start("log_min_duration_statement", "0", StartSource::Client).expect("by the client");
    assert_eq!(session.log_min_duration(), Some(Duration::ZERO));
    session.set("log_min_duration_statement", Some("-1"), false).expect("at any time");
    assert_eq!(session.log_min_duration(), None);
    assert_eq!(session.set("log_connections", Some("off"), false).expect_err("started").code, "55P02");
    let source = |name: &str| session.listed().into_iter().find(|found| found.name == name).map(|found| found.source);
    assert_eq!((source("log_connections"), source("log_disconnections")), (Some("command line"), Some("default")));
    for (name, value, code) in [
        ("no_such", "1", "42704"),
        ("app.user", "ada", "42704"),
        ("server_version", "16", "55P02"),
        ("log_min_duration_statement", "soon", "22023"),
        ("role", "none", "42704"),
    ] {
        assert_eq!(Settings::of_server(&given(name, value), server()).expect_err(name).code, code, "{name}");
    }
}

#[test]
fn timeouts_are_durations() {
    let mut settings = Settings::default();
    assert_eq!(settings.timeout("statement_timeout"), Some(Duration::from_secs(30)));
    assert_eq!(settings.timeout("lock_timeout"), None);
    settings.set("lock_timeout", Some("250ms"), true).unwrap();
    assert_eq!(settings.timeout("lock_timeout"), Some(Duration::from_millis(250)));
}
