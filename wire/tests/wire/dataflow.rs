//! The graph of operators: everything that a schema has stands in it, reads what it is made of, and goes when it is dropped.

use crate::client::Client;
use crate::server::{connect, start};
use crate::subscription::subscribe;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// What `dogwood.dataflow` shows: by id the kind, the name and the inputs.
fn graph(client: &mut Client) -> BTreeMap<String, (String, String, Vec<String>)> {
    // One column: other columns are given back as text all the same.
    let rows = client
        .rows("SELECT id || '|' || kind || '|' || name || '|' || array_to_string(inputs, ',') FROM dogwood.dataflow");
    rows.into_iter()
        .map(|row| {
            let parts: Vec<&str> = row.split('|').collect();
            let [id, kind, name, inputs] = parts[..] else { panic!("{row}") };
            let inputs = inputs.split(',').filter(|input| !input.is_empty()).map(str::to_string).collect();
            (id.to_string(), (kind.to_string(), name.to_string(), inputs))
        })
        .collect()
}

fn waits_for(client: &mut Client, query: &str, wanted: &str) {
    let began = Instant::now();
    while client.rows(query) != [wanted] {
        assert!(began.elapsed() < Duration::from_mins(1), "{query} does not become {wanted}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

const SCHEMA: [&str; 9] = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE posts (id INT PRIMARY KEY, author INT OWNED_BY people(id), body TEXT)",
    "CREATE TABLE likes (id INT PRIMARY KEY, post INT ACCESSED_BY posts(id), who INT OWNED_BY people(id))",
    "CREATE TABLE words (id INT PRIMARY KEY, word TEXT)",
    "CREATE INDEX posts_author ON posts (author)",
    "CREATE VIEW plain AS SELECT * FROM posts",
    "CREATE MATERIALIZED VIEW counted AS SELECT author, count(*) AS posts FROM posts GROUP BY author",
    "CREATE MATERIALIZED VIEW busy AS SELECT posts, count(*) FROM counted GROUP BY posts",
    "INSERT INTO people VALUES (1, 'zqcanary')",
];

const DROPPED: [&str; 5] = [
    "DROP VIEW plain",
    "DROP MATERIALIZED VIEW busy",
    "DROP MATERIALIZED VIEW counted",
    "DROP TABLE likes",
    "DROP INDEX posts_author",
];

#[test]
fn a_schema_stands_in_the_graph_and_leaves_it() {
    let server = start(true);
    let mut client = Client::login(server.address, "controller", &server.password).expect("login");
    for statement in SCHEMA {
        client.rows(statement);
    }
    waits_for(&mut client, "SELECT count(*) FROM dogwood.views WHERE stage = 'ready'", "2");
    let mut watching = Client::login(server.address, "controller", &server.password).expect("login");
    subscribe(&mut watching, "SELECT id, body FROM posts WHERE author = 1", "");
    let found = graph(&mut client);
    let id = |kind: &str, name: &str| {
        let named = found.iter().find(|(_, (its_kind, its_name, _))| its_kind == kind && its_name == name);
        named.unwrap_or_else(|| panic!("no {kind} {name} in {found:?}")).0.clone()
    };
    let inputs = |id: &str| found[id].2.iter().cloned().collect::<BTreeSet<_>>();
    let set = |ids: &[String]| ids.iter().cloned().collect::<BTreeSet<_>>();
    // What an operator is made of, at first or second hand.
    let all_below = |id: &str| {
        let (mut below, mut open) = (BTreeSet::new(), vec![id.to_string()]);
        while let Some(next) = open.pop() {
            open.extend(found[&next].2.iter().filter(|input| below.insert((*input).clone())).cloned());
        }
        below
    };
    let (people, posts) = (id("table", "people"), id("table", "posts"));
    assert_eq!(inputs(&id("index", "posts_author")), set(std::slice::from_ref(&posts)));
    assert_eq!(inputs(&id("owners", "owners of people")), set(&[people]));
    let owned = id("ownership", "posts (author) OWNED_BY people");
    assert_eq!(inputs(&owned), set(&[id("index", "posts_author"), id("owners", "owners of people")]));
    assert_eq!(inputs(&id("owners", "owners of posts")), set(&[owned]));
    assert!(inputs(&id("access", "likes (post) ACCESSED_BY posts")).contains(&id("owners", "owners of posts")));
    let requests = inputs(&id("subject requests", "requests of people"));
    assert!(requests.contains(&id("owners", "owners of likes")), "{requests:?}");
    assert!(requests.contains(&id("access", "likes (post) ACCESSED_BY posts")), "{requests:?}");
    assert_eq!(inputs(&id("view", "plain")), set(std::slice::from_ref(&posts)));
    let counted = id("materialized view", "counted");
    assert!(all_below(&counted).contains(&posts));
    let busy = all_below(&id("materialized view", "busy"));
    assert!(busy.contains(&counted) && busy.contains(&posts), "{busy:?}");
    let (subscription, (.., watched)) =
        found.iter().find(|(_, (kind, ..))| kind == "subscription").expect("the subscription stands there");
    assert_eq!(found[&watched[0]].0, "automatic view", "{subscription} reads {watched:?}");
    assert!(all_below(subscription).iter().any(|below| below == &posts || found[below].0 == "index"));
    let known: BTreeSet<&String> = found.keys().collect();
    assert!(found.values().flat_map(|(.., inputs)| inputs).all(|input| known.contains(input)), "arrows lead somewhere");
    assert!(found.values().all(|(_, name, _)| !name.contains("canary")));
    // A transaction sees its own definitions, and nobody else does.
    client.rows("BEGIN");
    client.rows("CREATE TABLE drafts (id INT PRIMARY KEY, author INT OWNED_BY people(id))");
    assert!(graph(&mut client).values().any(|(_, name, _)| name == "drafts (author) OWNED_BY people"));
    client.rows("ROLLBACK");
    drop(watching);
    for statement in DROPPED {
        client.rows(statement);
    }
    waits_for(&mut client, "SELECT count(*) FROM dogwood.subscriptions", "0");
    let left = graph(&mut client);
    for gone in ["plain", "busy", "counted", "likes", "owners of likes", "drafts", "likes (post) ACCESSED_BY posts"] {
        assert!(left.values().all(|(_, name, _)| name != gone), "{gone} is still there: {left:?}");
    }
    assert!(!left.values().any(|(kind, ..)| kind == "subscription" || kind == "materialized view"));
    client.rows("CREATE TABLE after (id INT PRIMARY KEY)");
    drop(client);
    server.switch.stop();
    server.join();
}

#[test]
fn the_graph_is_drawn() {
    let mut client = connect();
    client.rows("CREATE TABLE \"odd \"\"name\\\" (id INT PRIMARY KEY)");
    let text = client.rows("EXPLAIN (FORMAT DOT) DATAFLOW").join("\n");
    assert!(text.starts_with("digraph dataflow {\n") && text.ends_with("\n}"), "{text}");
    assert!(text.contains("table\\nodd \\\"name\\\\"), "{text}");
    let json = client.rows("EXPLAIN (FORMAT JSON) DATAFLOW").join("\n");
    assert!(json.starts_with("[{\"id\":\"table:"), "{json}");
    let listed = client.rows("EXPLAIN DATAFLOW");
    assert!(listed.iter().any(|row| row.contains("table:")), "{listed:?}");
    let refused = client.query("EXPLAIN (FORMAT DOT) SELECT 1");
    let error = refused.iter().find(|message| message.kind == b'E').expect("refused");
    assert_eq!(error.code(), "22023");
}
