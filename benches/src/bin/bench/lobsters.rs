//! The tables of Lobsters, their rows, and by brute force what belongs to whom.
//!
//! Keeps every reference of every row, and answers by walking over all of them until nothing more is reached: slow, and as short as the definition.

use std::collections::BTreeSet;

use crate::maintained::copy;
use crate::measure::{Random, Zipf};
use crate::server::{Failure, Server};

const EXPONENT: f64 = 0.6;

/// What a reference says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    OwnedBy,
    Accesses,
    /// And its row goes with the row that it names, or not.
    Plain(bool),
}

struct Reference {
    column: &'static str,
    target: usize,
    edge: Edge,
    /// Of a hundred rows so many have none.
    none: u64,
}

struct Table {
    name: &'static str,
    is_subject: bool,
    text: &'static str,
    rules: &'static str,
    references: Vec<Reference>,
    /// For each row, whom its references name.
    rows: Vec<Vec<Option<u32>>>,
}

/// What a person reached: (table, row) and whether by owning it.
pub type Reached = BTreeSet<(String, u32, bool)>;

/// All tables with their rows.
pub struct Lobsters {
    tables: Vec<Table>,
}

const USERS: usize = 0;

impl Lobsters {
    /// So many parts of the paper's data.
    pub fn new(scaled: impl Fn(u64) -> u64, seed: u64) -> Lobsters {
        let mut random = Random::new(seed + 17);
        let mut lobsters = Lobsters { tables: Vec::new() };
        let owned = |column, target| Reference { column, target, edge: Edge::OwnedBy, none: 0 };
        let plain = |column, target, none| Reference { column, target, edge: Edge::Plain(false), none };
        let cascading = |column, target, none| Reference { column, target, edge: Edge::Plain(true), none };
        let accesses = |column, target| Reference { column, target, edge: Edge::Accesses, none: 0 };
        let mut add = |name, is_subject, text, rules, rows, references| {
            lobsters.add(&mut random, name, is_subject, text, rules, rows, references)
        };
        add("users", true, "username", "", scaled(15_000), vec![]);
        add("invitation_requests", true, "memo", "", scaled(150), vec![]);
        let tags = add("tags", false, "tag", "", 100, vec![]);
        add("keystores", false, "value", "", scaled(15_000), vec![]);
        add("invitations", true, "email", "", scaled(1_500), vec![owned("user_id", USERS)]);
        let stories = add("stories", false, "title", "", scaled(100_000), vec![owned("user_id", USERS)]);
        let comments = add(
            "comments",
            false,
            "comment",
            "",
            scaled(313_000),
            vec![owned("user_id", USERS), plain("story_id", stories, 0)],
        );
        let votes =
            vec![owned("user_id", USERS), cascading("story_id", stories, 0), cascading("comment_id", comments, 40)];
        add("votes", false, "reason", "", scaled(416_000), votes);
        add("taggings", false, "note", "", scaled(150_000), vec![owned("story_id", stories), accesses("tag_id", tags)]);
        add("tag_filters", false, "note", "", scaled(5_000), vec![owned("user_id", USERS), plain("tag_id", tags, 0)]);
        add("hat_requests", false, "hat", "", scaled(300), vec![owned("user_id", USERS)]);
        add("hats", false, "hat", "", scaled(300), vec![owned("user_id", USERS), owned("granted_by_user_id", USERS)]);
        for name in ["hidden_stories", "read_ribbons", "saved_stories", "suggested_titles"] {
            add(name, false, "note", "", scaled(20_000), vec![owned("user_id", USERS), plain("story_id", stories, 0)]);
        }
        let suggested = vec![owned("user_id", USERS), accesses("tag_id", tags), plain("story_id", stories, 0)];
        add("suggested_taggings", false, "note", "", scaled(1_000), suggested);
        let rules = ", ON DEL author_user_id ANON (author_user_id), ON DEL recipient_user_id ANON (recipient_user_id)";
        add(
            "messages",
            false,
            "body",
            rules,
            scaled(15_000),
            vec![owned("author_user_id", USERS), owned("recipient_user_id", USERS)],
        );
        let moderated =
            vec![owned("user_id", USERS), owned("moderator_user_id", USERS), plain("story_id", stories, 50)];
        add("moderations", false, "action", "", scaled(500), moderated);
        lobsters
    }

    #[allow(clippy::too_many_arguments, reason = "a table's line in the list above")]
    fn add(
        &mut self,
        random: &mut Random,
        name: &'static str,
        is_subject: bool,
        text: &'static str,
        rules: &'static str,
        rows: u64,
        references: Vec<Reference>,
    ) -> usize {
        let zipfs: Vec<Zipf> = references
            .iter()
            .map(|reference| Zipf::new(self.tables[reference.target].rows.len() as u64, EXPONENT))
            .collect();
        let rows = (0..rows)
            .map(|_| {
                let names = references.iter().zip(&zipfs).map(|(reference, zipf)| {
                    let target = zipf.draw(random) as u32;
                    (random.below(100) >= reference.none).then_some(target)
                });
                names.collect()
            })
            .collect();
        self.tables.push(Table { name, is_subject, text, rules, references, rows });
        self.tables.len() - 1
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.tables.iter().map(|table| table.rows.len()).sum()
    }

    /// How many people.
    pub fn users(&self) -> usize {
        self.tables[USERS].rows.len()
    }

    /// Makes the tables and fills them.
    pub fn fill(&self, server: &Server) -> Result<(), Failure> {
        let mut client = server.connect()?;
        for table in &self.tables {
            let columns: String = table
                .references
                .iter()
                .map(|reference| {
                    let target = self.tables[reference.target].name;
                    let said = match reference.edge {
                        Edge::OwnedBy => format!("OWNED_BY {target}(id)"),
                        Edge::Accesses => format!("ACCESSES {target}(id)"),
                        Edge::Plain(false) => format!("REFERENCES ONLY {target}(id)"),
                        Edge::Plain(true) => format!("REFERENCES ONLY {target}(id) ON DELETE CASCADE"),
                    };
                    format!(", {} int {said}", reference.column)
                })
                .collect();
            let subject = if table.is_subject { "DATA_SUBJECT " } else { "" };
            let (name, text, rules) = (table.name, table.text, table.rules);
            client.batch_execute(&format!(
                "CREATE {subject}TABLE {name} (id int PRIMARY KEY, {text} text NOT NULL{columns}{rules})"
            ))?;
            let lines = table.rows.iter().enumerate().map(|(id, names)| {
                let names: String =
                    names.iter().map(|name| name.map_or("\t\\N".into(), |name| format!("\t{name}"))).collect();
                format!("{id}\t{name} of the number {id}{names}")
            });
            copy(server, name, lines)?;
        }
        Ok(())
    }

    /// The people with most rows.
    pub fn heaviest(&self, count: usize) -> Vec<u32> {
        let mut rows = vec![0_u64; self.users()];
        for (reference, table) in
            self.tables.iter().flat_map(|table| table.references.iter().enumerate().map(move |pair| (pair, table)))
        {
            if reference.1.target == USERS && reference.1.edge == Edge::OwnedBy {
                for name in table.rows.iter().filter_map(|names| names[reference.0]) {
                    rows[name as usize] += 1;
                }
            }
        }
        let mut users: Vec<u32> = (0..self.users() as u32).collect();
        users.sort_by_key(|&user| std::cmp::Reverse(rows[user as usize]));
        users.truncate(count);
        users
    }

    /// All that a person owns or may access, found by walking over every row until nothing new is reached.
    pub fn walk(&self, user: u32) -> Reached {
        let blank = || self.tables.iter().map(|table| vec![false; table.rows.len()]).collect::<Vec<_>>();
        let (mut owned, mut accessed) = (blank(), blank());
        owned[USERS][user as usize] = true;
        loop {
            let mut reached = false;
            for (place, table) in self.tables.iter().enumerate() {
                for (row, names) in table.rows.iter().enumerate() {
                    for (reference, name) in table.references.iter().zip(names) {
                        let Some(name) = *name else { continue };
                        let (target, name) = (reference.target, name as usize);
                        // Ownership and access stop at a person.
                        let person = self.tables[target].is_subject;
                        let holds = owned[target][name] && (!person || (target, name) == (USERS, user as usize));
                        let views = accessed[target][name] && !person;
                        let owns = owned[place][row] && (!table.is_subject || (place, row) == (USERS, user as usize));
                        match reference.edge {
                            Edge::OwnedBy => {
                                reached |= mark(&mut owned[place][row], holds);
                                reached |= mark(&mut accessed[place][row], views);
                            }
                            Edge::Accesses => {
                                let views = owns || (accessed[place][row] && !table.is_subject);
                                reached |= mark(&mut accessed[target][name], views);
                            }
                            Edge::Plain(_) => {}
                        }
                    }
                }
            }
            if !reached {
                break;
            }
        }
        let mut all = Reached::new();
        for (place, table) in self.tables.iter().enumerate() {
            for row in 0..table.rows.len() {
                if owned[place][row] || accessed[place][row] {
                    all.insert((table.name.into(), row as u32, owned[place][row]));
                }
            }
        }
        all
    }

    /// The rows of each table that are left when these people have been erased.
    pub fn survivors(&self, forgotten: &BTreeSet<u32>) -> Vec<(&'static str, BTreeSet<u32>)> {
        let mut alive: Vec<Vec<bool>> = Vec::new();
        for (place, table) in self.tables.iter().enumerate() {
            // A table names only tables before it.
            let rows = table.rows.iter().enumerate().map(|(row, names)| {
                if place == USERS {
                    return !forgotten.contains(&(row as u32));
                }
                let named = || {
                    table
                        .references
                        .iter()
                        .zip(names)
                        .filter_map(|(reference, name)| Some((reference, (*name)? as usize)))
                };
                let owners = || named().filter(|(reference, _)| reference.edge == Edge::OwnedBy);
                let cascades = named()
                    .any(|(reference, name)| reference.edge == Edge::Plain(true) && !alive[reference.target][name]);
                let owner_left = table.is_subject
                    || owners().count() == 0
                    || owners().any(|(reference, name)| alive[reference.target][name]);
                owner_left && !cascades
            });
            let rows = rows.collect();
            alive.push(rows);
        }
        let left =
            |rows: Vec<bool>| rows.iter().enumerate().filter(|(_, alive)| **alive).map(|(row, _)| row as u32).collect();
        self.tables.iter().zip(alive).map(|(table, rows)| (table.name, left(rows))).collect()
    }
}

/// Marks a row as reached; is that new?
fn mark(row: &mut bool, reached: bool) -> bool {
    let new = reached && !*row;
    *row |= reached;
    new
}
