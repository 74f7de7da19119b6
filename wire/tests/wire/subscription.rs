//! Conversations without a thread: quiet subscriptions and silent clients are cancelled, ended and heard as others are.

use crate::client::{Client, Message};
use crate::server::{Running, connect, start};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// Longer than a silent client keeps its thread.
pub const SILENCE: Duration = Duration::from_secs(6);

fn login(server: &Running) -> Client {
    Client::login(server.address, "controller", &server.password).expect("login")
}

/// Asks, and reads up to the marker after the rows as they are.
pub fn subscribe<S: Read + Write>(client: &mut Client<S>, query: &str, format: &str) -> Vec<String> {
    client.send(b'Q', format!("COPY (SUBSCRIBE ({query}) WITH (snapshot)) TO STDOUT{format}\0").as_bytes());
    let begun = client.read().expect("an answer");
    assert_eq!(begun.kind, b'H', "{}", begun.describe());
    let mut lines = Vec::new();
    loop {
        let line = line(client);
        let marker = line.split(['\t', ',']).nth(1).is_some_and(|diff| diff == "\\N" || diff.is_empty());
        lines.push(line);
        if marker {
            return lines;
        }
    }
}

fn line<S: Read + Write>(client: &mut Client<S>) -> String {
    let message = client.read().expect("a line");
    assert_eq!(message.kind, b'd', "{}", message.describe());
    String::from_utf8(message.body).expect("text").trim_end().to_string()
}

/// A line without its time.
pub fn told<S: Read + Write>(client: &mut Client<S>) -> String {
    let line = line(client);
    line.split_once(['\t', ',']).expect("a time").1.to_string()
}

fn waits_for(client: &mut Client, query: &str, wanted: &str) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_mins(1) {
        if client.rows(query) == [wanted] {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{query} does not become {wanted}");
}

#[test]
fn what_several_are_told_is_told_in_each_one_s_form() {
    let mut writer = connect();
    writer.rows("CREATE TABLE forms (id INT PRIMARY KEY, at TIMESTAMPTZ, bytes BYTEA)");
    let query = "SELECT id, at, bytes FROM forms";
    let mut plain = [connect(), connect(), connect()];
    plain.iter_mut().for_each(|client| drop(subscribe(client, query, "")));
    let mut separated = connect();
    subscribe(&mut separated, query, " (FORMAT csv)");
    let mut eastern = connect();
    eastern.rows("SET timezone = 'Asia/Tokyo'");
    subscribe(&mut eastern, query, "");
    let mut escaped = connect();
    escaped.rows("SET bytea_output = 'escape'");
    subscribe(&mut escaped, query, "");
    let mut turned = connect();
    subscribe(&mut turned, "SELECT bytes, id FROM forms", "");
    for id in 1..=3 {
        writer.rows(&format!("INSERT INTO forms VALUES ({id}, '2026-01-02 03:04:05+00', 'ab\\001')"));
        for client in &mut plain {
            assert_eq!(told(client), format!("1\t{id}\t2026-01-02 03:04:05+00\t\\\\x616201"));
        }
        assert_eq!(told(&mut separated), format!("1,{id},2026-01-02 03:04:05+00,\\x616201"));
        assert_eq!(told(&mut eastern), format!("1\t{id}\t2026-01-02 12:04:05+09\t\\\\x616201"));
        assert_eq!(told(&mut escaped), format!("1\t{id}\t2026-01-02 03:04:05+00\tab\\\\001"));
        assert_eq!(told(&mut turned), format!("1\t\\\\x616201\t{id}"));
    }
}

#[test]
fn a_quiet_subscription_is_cancelled_and_the_conversation_goes_on() {
    let mut writer = connect();
    writer.rows("CREATE TABLE quiet (id INT PRIMARY KEY)");
    let mut client = connect();
    for round in 0..3 {
        let lines = subscribe(&mut client, "SELECT id FROM quiet", "");
        assert_eq!(lines.len(), 1 + round);
        writer.rows(&format!("INSERT INTO quiet VALUES ({round})"));
        assert_eq!(told(&mut client), format!("1\t{round}"));
        let secret = client.secret.clone();
        client.cancel(&secret);
        let ended = client.until_ready();
        assert_eq!(ended[0].code(), "57014");
        assert_eq!(client.rows("SELECT 1"), ["1"]);
    }
}

#[test]
fn a_vanished_subscriber_is_noticed_though_it_has_said_something() {
    let mut watcher = connect();
    watcher.rows("CREATE TABLE left_alone (id INT PRIMARY KEY)");
    let (mut silent, mut talking) = (connect(), connect());
    for client in [&mut silent, &mut talking] {
        subscribe(client, "SELECT id FROM left_alone", "");
    }
    let count =
        format!("SELECT count(*) FROM dogwood.subscriptions WHERE backend IN ({}, {})", silent.pid, talking.pid);
    waits_for(&mut watcher, &count, "2");
    drop(silent);
    waits_for(&mut watcher, &count, "1");
    talking.send(b'X', b"");
    drop(talking);
    waits_for(&mut watcher, &count, "0");
}

#[test]
fn a_subscriber_that_does_not_read_keeps_nobody_waiting_and_misses_nothing() {
    let mut writer = connect();
    writer.rows("CREATE TABLE wide (id INT PRIMARY KEY, body TEXT)");
    let (mut slow, mut quick) = (connect(), connect());
    for client in [&mut slow, &mut quick] {
        subscribe(client, "SELECT id, length(body), body FROM wide", "");
    }
    // More than both sockets hold, less than what cuts a subscription.
    for id in 0..30 {
        writer.rows(&format!("INSERT INTO wide VALUES ({id}, repeat('x', 1000000))"));
        assert!(told(&mut quick).starts_with(&format!("1\t{id}\t1000000\t")));
    }
    for id in 0..30 {
        assert!(told(&mut slow).starts_with(&format!("1\t{id}\t1000000\t")));
    }
}

#[test]
fn a_silent_client_is_heard_again() {
    let mut idle = connect();
    idle.rows("BEGIN");
    let mut limited = connect();
    limited.rows("SET idle_session_timeout = '12s'");
    let mut half = connect();
    half.write(b"Q\0\0\0\x0dSEL");
    std::thread::sleep(SILENCE);
    assert_eq!(idle.rows("SELECT 1"), ["1"]);
    assert_eq!(idle.rows("COMMIT"), [""; 0]);
    assert_eq!(limited.rows("SELECT 1"), ["1"]);
    half.write(b"ECT 1\0");
    assert_eq!(
        half.until_ready().iter().filter(|message| message.kind == b'D').map(Message::row).collect::<Vec<_>>(),
        ["1"]
    );
    std::thread::sleep(SILENCE);
    assert_eq!(idle.rows("SELECT 2"), ["2"]);
    let ended = limited.read().expect("told why");
    assert_eq!((ended.code().as_str(), limited.is_closed()), ("57P05", true));
}

#[test]
fn a_stopping_server_tells_those_who_only_wait() {
    let server = start(true);
    let mut subscriber = login(&server);
    subscriber.rows("CREATE TABLE t (id INT PRIMARY KEY)");
    subscribe(&mut subscriber, "SELECT id FROM t", "");
    let mut silent = login(&server);
    std::thread::sleep(SILENCE);
    server.switch.stop();
    for client in [&mut subscriber, &mut silent] {
        assert_eq!(client.read().expect("told why").code(), "57P01");
        assert!(client.is_closed());
    }
    server.join();
}
