//! The extended protocol: order, names, counts, formats, portals, recovery.

use crate::client::{describe, message};
use crate::server::connect;

/// A Parse message.
pub fn parse(name: &str, sql: &str, types: &[u32]) -> Vec<u8> {
    let mut body = format!("{name}\0{sql}\0").into_bytes();
    body.extend_from_slice(&(types.len() as u16).to_be_bytes());
    for oid in types {
        body.extend_from_slice(&oid.to_be_bytes());
    }
    message(b'P', &body)
}

/// A Bind message.
pub fn bind(portal: &str, statement: &str, formats: &[i16], values: &[Option<&[u8]>], results: &[i16]) -> Vec<u8> {
    let mut body = format!("{portal}\0{statement}\0").into_bytes();
    let codes = |body: &mut Vec<u8>, codes: &[i16]| {
        body.extend_from_slice(&(codes.len() as u16).to_be_bytes());
        for code in codes {
            body.extend_from_slice(&code.to_be_bytes());
        }
    };
    codes(&mut body, formats);
    body.extend_from_slice(&(values.len() as u16).to_be_bytes());
    for value in values {
        match value {
            None => body.extend_from_slice(&(-1i32).to_be_bytes()),
            Some(bytes) => {
                body.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
                body.extend_from_slice(bytes);
            }
        }
    }
    codes(&mut body, results);
    message(b'B', &body)
}

/// An Execute message.
pub fn execute(portal: &str, max_rows: i32) -> Vec<u8> {
    let mut body = format!("{portal}\0").into_bytes();
    body.extend_from_slice(&max_rows.to_be_bytes());
    message(b'E', &body)
}

/// A Describe or Close message.
fn named(kind: u8, target: u8, name: &str) -> Vec<u8> {
    let mut body = vec![target];
    body.extend_from_slice(name.as_bytes());
    body.push(0);
    message(kind, &body)
}

const SYNC: &[u8] = b"S\0\0\0\x04";

/// Sends all, then Sync; what comes back.
fn exchange(parts: &[Vec<u8>]) -> Vec<String> {
    let mut client = connect();
    exchange_on(&mut client, parts)
}

fn exchange_on(client: &mut crate::client::Client, parts: &[Vec<u8>]) -> Vec<String> {
    client.write(&[parts.concat(), SYNC.to_vec()].concat());
    describe(&client.until_ready())
}

const SERIES: &str = "SELECT n FROM generate_series(1, 5) n";

#[test]
fn a_portal_stops_and_goes_on() {
    let seen = exchange(&[
        parse("s", SERIES, &[]),
        bind("p", "s", &[], &[], &[]),
        execute("p", 2),
        execute("p", 3),
        execute("p", 1),
        execute("p", 0),
    ]);
    let expected = ["1", "2", "D 1", "D 2", "s", "D 3", "D 4", "D 5", "s", "C SELECT 0", "C SELECT 0", "Z I"];
    assert_eq!(seen, expected);
}

#[test]
fn many_statements_are_pipelined() {
    let parts: Vec<Vec<u8>> = (0..200)
        .flat_map(|number| {
            [
                parse("", "SELECT $1::int4 + 1", &[23]),
                bind("", "", &[], &[Some(number.to_string().as_bytes())], &[]),
                execute("", 0),
            ]
        })
        .collect();
    let seen = exchange(&parts);
    let rows: Vec<&String> = seen.iter().filter(|line| line.starts_with('D')).collect();
    assert_eq!(rows.len(), 200);
    assert_eq!(rows[199], "D 200");
}

/// Each of them is answered while the connection reads on: in order, and before what reads its rows.
#[test]
fn commits_are_pipelined() {
    const ROWS: usize = 100;
    let mut client = connect();
    client.query("CREATE TABLE pipelined (n int PRIMARY KEY)");
    let mut all = [parse("insert", "INSERT INTO pipelined VALUES ($1)", &[23]), SYNC.to_vec()].concat();
    for number in 0..ROWS {
        let number = number.to_string();
        all.extend(bind("", "insert", &[], &[Some(number.as_bytes())], &[]));
        all.extend(execute("", 0));
        all.extend(SYNC);
        // What was just committed is seen; committed again, it is refused.
        all.extend(message(b'Q', b"SELECT count(*) FROM pipelined\0"));
        all.extend(bind("", "insert", &[], &[Some(number.as_bytes())], &[]));
        all.extend(execute("", 0));
        all.extend(SYNC);
    }
    client.write(&all);
    assert_eq!(describe(&client.until_ready()), ["1", "Z I"]);
    for number in 1..=ROWS {
        assert_eq!(describe(&client.until_ready()), ["2", "C INSERT 0 1", "Z I"]);
        let counted = describe(&client.until_ready());
        assert!(counted.contains(&format!("D {number}")), "{counted:?}");
        let refused = describe(&client.until_ready());
        assert!(refused[1].starts_with("E 23505"), "{refused:?}");
    }
}

/// The pipeline frees a transaction's locks though its connection is silent.
#[test]
fn a_silent_client_keeps_no_locks() {
    let (mut first, mut second) = (connect(), connect());
    first.query("CREATE TABLE unlocked (n int PRIMARY KEY, seen int)");
    first.query("INSERT INTO unlocked VALUES (1, 0)");
    for _ in 0..20 {
        for client in [&mut first, &mut second] {
            let seen = exchange_on(
                client,
                &[
                    parse("", "UPDATE unlocked SET seen = seen + 1 WHERE n = 1", &[]),
                    bind("", "", &[], &[], &[]),
                    execute("", 0),
                ],
            );
            assert_eq!(seen, ["1", "2", "C UPDATE 1", "Z I"]);
        }
    }
    assert_eq!(first.rows("SELECT seen FROM unlocked"), ["40"]);
}

#[test]
fn after_an_error_all_up_to_sync_is_passed_over() {
    let mut client = connect();
    let seen = exchange_on(
        &mut client,
        &[
            parse("", "SELECT 1", &[]),
            bind("", "", &[], &[], &[]),
            execute("", 0),
            parse("", "SELECT nothing_there", &[]),
            bind("", "", &[], &[], &[]),
            execute("", 0),
            message(b'Q', b"SELECT 2\0"),
        ],
    );
    assert_eq!(seen[..4], ["1", "2", "D 1", "C SELECT 1"]);
    assert!(seen[4].starts_with("E 42703"), "{seen:?}");
    assert_eq!(seen[5..], ["Z I"]);
    assert_eq!(client.rows("SELECT 3"), ["3"]);
}

#[test]
fn an_error_is_sent_before_the_flush_that_is_passed_over() {
    let mut client = connect();
    client.write(&parse("", "SELECT nothing_there", &[]));
    client.send(b'H', b"");
    assert_eq!(client.read().expect("not kept back").code(), "42703");
    client.write(SYNC);
    client.until_ready();
}

#[test]
fn wrong_names_and_counts_have_their_codes() {
    let one = || parse("", "SELECT $1::int4", &[]);
    for (parts, code) in [
        (vec![bind("", "none", &[], &[], &[])], "26000"),
        (vec![execute("none", 0)], "34000"),
        (vec![named(b'D', b'S', "none")], "26000"),
        (vec![named(b'D', b'P', "none")], "34000"),
        (vec![one(), bind("", "", &[], &[], &[])], "08P01"),
        (vec![one(), bind("", "", &[], &[None, None], &[])], "08P01"),
        (vec![one(), bind("", "", &[0, 0], &[None], &[])], "08P01"),
        (vec![one(), bind("", "", &[2], &[None, None], &[])], "08P01"),
        (vec![one(), bind("", "", &[2], &[Some(b"1")], &[])], "22023"),
        (vec![one(), bind("", "", &[], &[None], &[0, 0])], "08P01"),
        (vec![one(), bind("", "", &[], &[Some(b"x")], &[])], "22P02"),
        (vec![one(), bind("", "", &[1], &[Some(b"x")], &[])], "08P01"),
        (vec![one(), bind("", "", &[1], &[Some(b"12345")], &[])], "22P03"),
        (vec![parse("", "SELECT $1::text", &[]), bind("", "", &[], &[Some(b"\xff")], &[])], "22021"),
        (vec![parse("", "SELECT 1; SELECT 2", &[])], "42601"),
        (vec![parse("", "SELECT $1", &[999_999])], "42704"),
        (vec![parse("a", "SELECT 1", &[]), parse("a", "SELECT 1", &[])], "42P05"),
        (vec![parse("", "SELECT 1", &[]), bind("p", "", &[], &[], &[]), bind("p", "", &[], &[], &[])], "42P03"),
    ] {
        let seen = exchange(&parts);
        let errors: Vec<&String> = seen.iter().filter(|line| line.starts_with('E')).collect();
        assert!(errors.len() == 1 && errors[0].starts_with(&format!("E {code}")), "{code}: {seen:?}");
    }
}

#[test]
fn statements_are_described_before_they_run() {
    let mut client = connect();
    client.write(
        &[
            parse("s", "SELECT $1::int4 AS a, $2::text AS b", &[]),
            named(b'D', b'S', "s"),
            bind("p", "s", &[], &[Some(b"1"), None], &[1]),
            named(b'D', b'P', "p"),
            execute("p", 0),
            named(b'C', b'P', "p"),
            named(b'C', b'S', "s"),
            named(b'C', b'S', "never there"),
            SYNC.to_vec(),
        ]
        .concat(),
    );
    let messages = client.until_ready();
    let kinds: Vec<u8> = messages.iter().map(|message| message.kind).collect();
    assert_eq!(kinds, b"1tT2TDC333Z");
    assert_eq!(messages[1].body, [0, 2, 0, 0, 0, 23, 0, 0, 0, 25]);
    // The last two bytes of a field are its format.
    assert_eq!(messages[2].body[messages[2].body.len() - 2..], [0, 0]);
    assert_eq!(messages[4].body[messages[4].body.len() - 2..], [0, 1]);
    assert_eq!(messages[5].body, [0, 2, 0, 0, 0, 4, 0, 0, 0, 1, 255, 255, 255, 255]);
    let seen = exchange_on(&mut client, &[bind("", "s", &[], &[None, None], &[])]);
    assert!(seen[0].starts_with("E 26000"));
}

#[test]
fn the_empty_statement_is_one() {
    let seen = exchange(&[parse("", " ; ", &[]), named(b'D', b'S', ""), bind("", "", &[], &[], &[]), execute("", 0)]);
    assert_eq!(seen, ["1", "t", "n", "2", "I", "Z I"]);
}

#[test]
fn portals_live_as_long_as_their_transaction() {
    let mut client = connect();
    let begin = [parse("", "BEGIN", &[]), bind("", "", &[], &[], &[]), execute("", 0)].concat();
    let open = [parse("s", SERIES, &[]), bind("p", "s", &[], &[], &[]), execute("p", 1)].concat();
    assert_eq!(exchange_on(&mut client, &[begin, open]), ["1", "2", "C BEGIN", "1", "2", "D 1", "s", "Z T"]);
    assert_eq!(exchange_on(&mut client, &[execute("p", 1)]), ["D 2", "s", "Z T"]);
    client.query("COMMIT");
    assert!(exchange_on(&mut client, &[execute("p", 1)])[0].starts_with("E 34000"));
    // Without a block the Sync is the end.
    let seen = exchange_on(&mut client, &[bind("p", "s", &[], &[], &[]), execute("p", 1)]);
    assert_eq!(seen, ["2", "D 1", "s", "Z I"]);
    assert!(exchange_on(&mut client, &[execute("p", 1)])[0].starts_with("E 34000"));
}

#[test]
fn portals_are_cursors_of_sql() {
    let mut client = connect();
    client.query("BEGIN");
    let open = [parse("s", SERIES, &[]), bind("p", "s", &[], &[], &[]), execute("p", 1)].concat();
    assert_eq!(exchange_on(&mut client, &[open]), ["1", "2", "D 1", "s", "Z T"]);
    assert_eq!(describe(&client.query("MOVE FORWARD 1 FROM p")), ["C MOVE 1", "Z T"]);
    assert_eq!(exchange_on(&mut client, &[execute("p", 1)]), ["D 3", "s", "Z T"]);
    assert_eq!(exchange_on(&mut client, &[bind("q", "s", &[], &[], &[])]), ["2", "Z T"]);
    let moved = [parse("", "MOVE 2 FROM q", &[]), bind("", "", &[], &[], &[]), execute("", 0)].concat();
    assert_eq!(exchange_on(&mut client, &[moved]), ["1", "2", "C MOVE 2", "Z T"]);
    assert_eq!(describe(&client.query("FETCH 1 FROM q"))[1..], ["D 3", "C FETCH 1", "Z T"]);
    assert!(describe(&client.query("MOVE BACKWARD ALL FROM q"))[0].starts_with("E 55000"));
    assert!(exchange_on(&mut client, &[execute("p", 1)])[0].starts_with("E 25P02"));
}

#[test]
fn a_failed_block_takes_only_its_end() {
    let mut client = connect();
    client.query("BEGIN");
    assert!(describe(&client.query("SELECT nothing_there")).last().is_some_and(|last| last == "Z E"));
    assert!(describe(&client.query("SELECT 1"))[0].starts_with("E 25P02"));
    let seen = exchange_on(&mut client, &[parse("", "ROLLBACK", &[]), bind("", "", &[], &[], &[]), execute("", 0)]);
    assert_eq!(seen, ["1", "2", "C ROLLBACK", "Z I"]);
}

#[test]
fn query_strings_are_one_implicit_transaction() {
    let mut client = connect();
    client.rows("CREATE TABLE wire_script (id int PRIMARY KEY)");
    let seen = describe(&client.query("INSERT INTO wire_script VALUES (1); SELECT 1/0; SELECT 2"));
    assert!(seen[0] == "C INSERT 0 1" && seen[1].starts_with("E 22012") || seen[2].starts_with("E 22012"), "{seen:?}");
    assert_eq!(client.rows("SELECT count(*) FROM wire_script"), ["0"]);
    assert_eq!(describe(&client.query("")), ["I", "Z I"]);
    assert_eq!(
        describe(&client.query("SELECT 1; SELECT 2;")),
        ["T", "D 1", "C SELECT 1", "T", "D 2", "C SELECT 1", "Z I"]
    );
}

#[test]
fn misshapen_messages_cost_the_statement_and_nonsense_the_connection() {
    let mut client = connect();
    for body in [&b""[..], b"\0", b"\0\0\xff\xff", b"\0\0\0\0\0\x01\x7f\xff\xff\xff"] {
        client.send(b'B', body);
        client.write(SYNC);
        assert!(describe(&client.until_ready())[0].starts_with("E 08P01"));
    }
    client.send(b'Q', b"SELECT '\xff'\0");
    assert!(describe(&client.until_ready())[0].starts_with("E 22021"));
    assert_eq!(client.rows("SELECT 1"), ["1"]);
    for bytes in [&b"z\0\0\0\x04"[..], b"Q\0\0\0\x03", b"Q\xff\xff\xff\xff", b"Q\x7f\xff\xff\xff"] {
        let mut client = connect();
        client.write(bytes);
        let error = client.read().expect("told why");
        assert_eq!((error.code().as_str(), error.field(b'S').as_deref()), ("08P01", Some("FATAL")));
        assert!(client.is_closed());
    }
}

#[test]
fn changed_messages_never_stop_the_server() {
    let good = [
        parse("s", "SELECT $1::int4", &[23]),
        bind("p", "s", &[1], &[Some(&[0, 0, 0, 7])], &[1]),
        named(b'D', b'P', "p"),
        execute("p", 1),
        message(b'Q', b"SELECT 1\0"),
        SYNC.to_vec(),
    ]
    .concat();
    let mut seed = 11u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize
    };
    for _ in 0..60 {
        let mut bytes = good.clone();
        for _ in 0..=next() % 4 {
            let at = next() % bytes.len();
            bytes[at] = next() as u8;
        }
        let mut client = connect();
        client.write(&bytes);
        client.stream.shutdown(std::net::Shutdown::Write).expect("half closed");
        // Whatever it answers, it comes to an end.
        while client.read().is_ok() {}
    }
    assert_eq!(connect().rows("SELECT 1"), ["1"]);
}

/// All messages of a statement without a name, or with one that is new.
fn all_of(name: &str, sql: &str, types: &[u32], values: &[Option<&[u8]>]) -> Vec<Vec<u8>> {
    let described = [named(b'D', b'S', name), bind("", name, &[], values, &[]), named(b'D', b'P', "")];
    let closed = if name.is_empty() { Vec::new() } else { named(b'C', b'S', name) };
    let ran = [execute("", 0), closed].concat();
    [vec![parse(name, sql, types)], described.to_vec(), vec![ran]].concat()
}

#[test]
fn what_comes_again_without_a_name_is_as_it_was_and_follows_the_catalog() {
    let mut client = connect();
    let mut run = |sql: &str| client.query(sql);
    run("CREATE TABLE again (id INT PRIMARY KEY, name TEXT, at TIMESTAMPTZ)");
    run("INSERT INTO again SELECT n, 'n' || n, '2020-01-01'::timestamptz FROM generate_series(1, 9) n");
    type Statement<'a> = (&'a str, &'a [u32], &'a [Option<&'a [u8]>]);
    let statements: &[Statement] = &[
        ("SELECT * FROM again WHERE id = $1", &[23], &[Some(b"3")]),
        ("SELECT * FROM again WHERE id = $1", &[20], &[Some(b"3")]),
        ("SELECT * FROM again WHERE id = $1", &[], &[Some(b"4")]),
        ("SELECT $1 || 'a', $2::int + 1", &[], &[Some(b"3"), None]),
        ("SELECT * FROM again WHERE id = 7", &[], &[]),
        ("SELECT * FROM again WHERE id = 8 AND name = 'n8'", &[], &[]),
        ("SELECT * FROM again WHERE id = 99999999999", &[], &[]),
        ("SELECT * FROM again WHERE at > '2020-13-01' AND id = 1", &[], &[]),
        ("SELECT * FROM again WHERE id = 'x'", &[], &[]),
        ("UPDATE again SET name = 'm' WHERE id = $1 RETURNING name", &[], &[Some(b"5")]),
        ("INSERT INTO again VALUES (3, 'twice')", &[], &[]),
        ("SELECT nothing_there FROM again WHERE id = $1", &[], &[Some(b"5")]),
        ("SELECT $1::int", &[], &[]),
        (
            "SELECT 1 AS aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggg WHERE $1",
            &[],
            &[Some(b"t")],
        ),
    ];
    for change in [
        "SELECT 1",
        "ALTER TABLE again ADD COLUMN more INT DEFAULT 5",
        "SET TimeZone = '+09'",
        "ALTER TABLE again ALTER COLUMN id TYPE BIGINT",
        "BEGIN; ALTER TABLE again RENAME COLUMN more TO less",
        "ROLLBACK",
        "BEGIN; SELECT nothing_there",
        "ROLLBACK",
        "DROP TABLE again",
    ] {
        client.query(change);
        for (position, (sql, types, values)) in statements.iter().enumerate() {
            if change.starts_with("BEGIN") && position > 6 {
                continue;
            }
            let expected = exchange_on(&mut client, &all_of("fresh", sql, types, values));
            let expected =
                expected.into_iter().filter(|part| part != "3").map(|part| part.replace("\"fresh\"", "\"\""));
            let expected: Vec<String> = expected.collect();
            client.query("DEALLOCATE ALL");
            for time in 1..5 {
                let seen = exchange_on(&mut client, &all_of("", sql, types, values));
                assert_eq!(seen, expected, "{sql}, time {time} after {change}");
            }
        }
    }
}
