//! COPY both ways, and what can go wrong on the way.

use crate::client::{Client, describe, message};
use crate::server::connect;

fn copy_in(client: &mut Client, sql: &str, parts: &[Vec<u8>]) -> Vec<String> {
    client.send(b'Q', format!("{sql}\0").as_bytes());
    client.write(&parts.concat());
    describe(&client.until_ready())
}

fn data(text: &str) -> Vec<u8> {
    message(b'd', text.as_bytes())
}

fn done() -> Vec<u8> {
    message(b'c', b"")
}

fn copy_out(client: &mut Client, sql: &str) -> String {
    let messages = client.query(sql);
    let kinds: Vec<u8> = messages.iter().map(|message| message.kind).filter(|&kind| kind != b'd').collect();
    assert_eq!(kinds, b"HcCZ", "{:?}", describe(&messages));
    let data = messages.iter().filter(|message| message.kind == b'd');
    String::from_utf8(data.flat_map(|message| message.body.clone()).collect()).expect("text")
}

#[test]
fn rows_go_in_and_out_in_text_and_csv() {
    let mut client = connect();
    client.rows("CREATE TABLE wire_copy (id int PRIMARY KEY, note text)");
    let text = "1\tplain\n2\t\\N\n3\ta\\tb\\\\c\\n\n";
    let seen = copy_in(
        &mut client,
        "COPY wire_copy FROM STDIN",
        &[data(&text[..5]), data(&text[5..20]), data(&text[20..]), done()],
    );
    assert_eq!(seen, ["G", "C COPY 3", "Z I"]);
    let ordered = "SELECT id, note FROM wire_copy ORDER BY id";
    assert_eq!(copy_out(&mut client, &format!("COPY ({ordered}) TO STDOUT")), text);
    let csv = copy_out(&mut client, &format!("COPY ({ordered}) TO STDOUT WITH (FORMAT csv, HEADER)"));
    assert_eq!(csv, "id,note\n1,plain\n2,\n3,\"a\tb\\c\n\"\n");
    client.rows("DELETE FROM wire_copy");
    let seen = copy_in(&mut client, "COPY wire_copy FROM STDIN WITH (FORMAT csv, HEADER)", &[data(&csv), done()]);
    assert_eq!(seen, ["G", "C COPY 3", "Z I"]);
    assert_eq!(copy_out(&mut client, &format!("COPY ({ordered}) TO STDOUT")), text);
}

#[test]
fn a_failing_copy_leaves_nothing_and_the_connection_lives() {
    let mut client = connect();
    client.rows("CREATE TABLE wire_copy_fail (id int PRIMARY KEY, note text)");
    let sql = "COPY wire_copy_fail FROM STDIN";
    for (parts, code) in [
        (vec![data("1\ta\nx\tb\n"), data("3\tc\n"), done()], "22P02"),
        (vec![data("1\ta\n2\n"), done()], "22P04"),
        (vec![data("1\ta\n1\tb\n"), done()], "23505"),
        (vec![data("1\ta\n"), message(b'f', b"no more\0")], "57014"),
        (vec![data("1\ta\n"), message(b'B', b"")], "08P01"),
    ] {
        let seen = copy_in(&mut client, sql, &parts);
        let errors: Vec<&String> = seen.iter().filter(|line| line.starts_with('E')).collect();
        assert!(errors.len() == 1 && errors[0].starts_with(&format!("E {code}")), "{code}: {seen:?}");
        assert_eq!(client.rows("SELECT count(*) FROM wire_copy_fail"), ["0"]);
    }
    client.send(b'Q', format!("{sql}\0").as_bytes());
    client.write(&[data("1\ta\nx\tb\n"), done()].concat());
    let messages = client.until_ready();
    let error = messages.iter().find(|message| message.kind == b'E').expect("an error");
    assert_eq!(error.field(b'W').as_deref(), Some("COPY wire_copy_fail, line 2, column id"));
}

#[test]
fn a_cancel_request_ends_a_copy_that_waits_for_its_client() {
    let mut client = connect();
    client.rows("CREATE TABLE wire_copy_wait (id int PRIMARY KEY)");
    client.send(b'Q', b"COPY wire_copy_wait FROM STDIN\0");
    assert_eq!(client.read().expect("a message").kind, b'G');
    client.cancel(&client.secret);
    assert!(describe(&client.until_ready())[0].starts_with("E 57014"));
    // What was under way is passed over.
    client.write(&[data("1\n"), done()].concat());
    assert_eq!(client.rows("SELECT count(*) FROM wire_copy_wait"), ["0"]);
}

#[test]
fn a_message_that_is_too_long_costs_its_statement_and_the_client_reads_why() {
    let mut client = connect();
    client.rows("CREATE TABLE wire_copy_long (id int PRIMARY KEY, note text)");
    let long = data(&format!("1\t{}\n", "x".repeat(65 << 20)));
    // All of it is sent before anything is read, as drivers do.
    let seen = copy_in(&mut client, "COPY wire_copy_long FROM STDIN", &[data("2\tb\n"), long, data("3\tc\n"), done()]);
    assert!(seen[0] == "G" && seen[1].starts_with("E 54000") && seen[2] == "Z I", "{seen:?}");
    assert_eq!(client.rows("SELECT count(*) FROM wire_copy_long"), ["0"]);
    client.send(b'Q', format!("SELECT '{}'\0", "x".repeat(65 << 20)).as_bytes());
    let seen = client.until_ready();
    assert_eq!((seen[0].code().as_str(), seen[0].field(b'S').as_deref(), seen.len()), ("54000", Some("ERROR"), 2));
    assert!(seen[0].field(b'H').is_some());
    assert_eq!(client.rows("SELECT 1"), ["1"]);
}
