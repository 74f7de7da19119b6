//! The six defects of pgwire 0.42.1's own loop, which ours must not have.

use crate::client::{Client, message, packet, startup};
use crate::extended::{bind, execute, parse};
use crate::server::{connect, start};

const MANY: &str = "SELECT n FROM generate_series(1, 3000000) n";

#[test]
fn one_any_number_of_rows_may_be_asked_for() {
    let mut client = connect();
    for max_rows in [i32::MAX, 0, -1, i32::MIN] {
        client.write(&parse("", "SELECT n FROM generate_series(1, 3) n", &[]));
        client.write(&bind("", "", &[], &[], &[]));
        client.write(&execute("", max_rows));
        client.send(b'S', b"");
        let seen = crate::client::describe(&client.until_ready());
        assert_eq!(seen, ["1", "2", "D 1", "D 2", "D 3", "C SELECT 3", "Z I"], "{max_rows}");
    }
}

#[test]
fn two_plain_text_behind_a_request_for_tls_is_never_taken() {
    let server = start(false);
    let mut client = Client::open(server.address);
    let mut bytes = packet(&80_877_103i32.to_be_bytes());
    bytes.extend_from_slice(&startup(3 << 16, &[("user", "controller")]));
    bytes.extend_from_slice(&message(b'Q', b"SELECT 1\0"));
    client.write(&bytes);
    let mut answer = [0];
    std::io::Read::read_exact(&mut client.stream, &mut answer).expect("an answer to the request");
    assert_eq!(&answer, b"S");
    // What follows is at most a TLS alert; then the server closes.
    let mut rest = Vec::new();
    drop(std::io::Read::read_to_end(&mut client.stream, &mut rest));
    assert!(rest.is_empty() || rest[0] == 0x15, "{rest:?}");
    server.switch.stop();
    server.join();
}

#[test]
fn three_copy_out_begins_before_its_query_ends() {
    let mut client = connect();
    client.send(b'Q', format!("COPY ({MANY}) TO STDOUT\0").as_bytes());
    assert_eq!(client.read().expect("header").kind, b'H');
    assert_eq!(client.read().expect("row").body, b"1\n");
    // More than the sockets between hold: the server cannot be at the end.
    client.cancel(&client.secret);
    let last = client.until_ready();
    let errors: Vec<_> = last.iter().filter(|message| message.kind == b'E').collect();
    assert_eq!(errors[0].code(), "57014");
    assert!(last.iter().all(|message| message.kind != b'c'));
}

#[test]
fn four_extended_results_are_streamed() {
    let mut client = connect();
    client.write(&parse("", MANY, &[]));
    client.write(&bind("", "", &[], &[], &[]));
    client.write(&execute("", 0));
    client.send(b'H', b"");
    for kind in [b'1', b'2', b'D'] {
        assert_eq!(client.read().expect("a message").kind, kind);
    }
    client.cancel(&client.secret);
    client.send(b'S', b"");
    let last = client.until_ready();
    assert!(last.iter().any(|message| message.kind == b'E' && message.code() == "57014"));
    assert!(last.iter().all(|message| message.kind != b'C'));
}

#[test]
fn five_a_cancel_request_ends_rows_under_way_and_nothing_else() {
    let mut client = connect();
    client.send(b'Q', format!("{MANY}\0").as_bytes());
    assert_eq!(client.read().expect("columns").kind, b'T');
    assert_eq!(client.read().expect("row").kind, b'D');
    client.cancel(&[0, 0, 0, 0]);
    client.cancel(&[]);
    client.cancel(&client.secret);
    let last = client.until_ready();
    assert!(last.iter().any(|message| message.kind == b'E' && message.code() == "57014"));
    // The next statement starts uncancelled, also after a request that came too late.
    client.cancel(&client.secret);
    assert_eq!(client.rows("SELECT 1"), ["1"]);
}

#[test]
fn six_an_error_in_copy_out_is_an_error_response_alone() {
    let mut client = connect();
    let messages = client.query("COPY (SELECT 6 / (3 - n) FROM generate_series(1, 5) n) TO STDOUT");
    let kinds: Vec<u8> = messages.iter().map(|message| message.kind).filter(|&kind| kind != b'd').collect();
    assert!(kinds == [b'H', b'E', b'Z'] || kinds == [b'E', b'Z'], "{kinds:?}");
    assert_eq!(messages.iter().find(|message| message.kind == b'E').expect("an error").code(), "22012");
    assert_eq!(client.rows("SELECT 1"), ["1"]);
}
