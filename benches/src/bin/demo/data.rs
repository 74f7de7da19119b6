//! The demo's data set: a file-sharing and discussion service, the same at every run.
//!
//! Rows are made from one seed and kept in memory as plain numbers, so that the story can say what the database must
//! answer without asking it. Never reads a clock or a random source.

use crate::failure::Failure;
use postgres::Client;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// The schema, with whose each row is.
pub const SCHEMA: &str = "
CREATE DATA_SUBJECT TABLE users (
  id INT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, joined_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE groups (id INT PRIMARY KEY, title TEXT NOT NULL);
CREATE TABLE members (
  id INT PRIMARY KEY, role TEXT NOT NULL,
  group_id INT NOT NULL OWNS groups(id),
  user_id INT NOT NULL OWNED_BY users(id)
);
CREATE TABLE files (
  id INT PRIMARY KEY, name TEXT NOT NULL, bytes BIGINT NOT NULL CHECK (bytes >= 0),
  creator INT NOT NULL OWNED_BY users(id)
);
CREATE TABLE shares (
  id INT PRIMARY KEY,
  file_id INT NOT NULL OWNED_BY files(id),
  shared_by INT OWNED_BY users(id),
  with_user INT ACCESSED_BY users(id),
  with_group INT ACCESSED_BY groups(id),
  ON DEL file_id DELETE_ROW,
  ON DEL shared_by ANON (shared_by)
);
CREATE TABLE tags (id INT PRIMARY KEY, tag TEXT NOT NULL UNIQUE);
CREATE TABLE stories (
  id INT PRIMARY KEY, title TEXT NOT NULL, created_at TIMESTAMPTZ NOT NULL,
  author INT NOT NULL OWNED_BY users(id)
);
CREATE TABLE taggings (
  id INT PRIMARY KEY,
  story_id INT NOT NULL OWNED_BY stories(id),
  tag_id INT NOT NULL ACCESSES tags(id)
);
CREATE TABLE comments (
  id INT PRIMARY KEY, body TEXT NOT NULL,
  author INT NOT NULL OWNED_BY users(id),
  story_id INT REFERENCES ONLY stories(id) ON DELETE SET NULL
);
CREATE TABLE votes (
  id INT PRIMARY KEY,
  user_id INT NOT NULL OWNED_BY users(id),
  story_id INT NOT NULL REFERENCES ONLY stories(id) ON DELETE CASCADE
);
CREATE TABLE messages (
  id INT PRIMARY KEY, body TEXT NOT NULL,
  sender INT OWNED_BY users(id),
  receiver INT OWNED_BY users(id),
  ON DEL sender ANON (sender),
  ON DEL receiver ANON (receiver)
)";

/// The tables, in the order of their names.
pub const TABLES: [&str; 11] =
    ["comments", "files", "groups", "members", "messages", "shares", "stories", "taggings", "tags", "users", "votes"];

const USERS: u32 = 5_000;
const GROUPS: u32 = 1_000;
const GROUP_MEMBERS: u32 = 5;
const FILES: u32 = 8_000;
const SHARES: u32 = 20_000;
const TAGS: u32 = 50;
const STORIES: u32 = 10_000;
const TAGGINGS: u32 = 10_000;
const COMMENTS: u32 = 30_000;
const VOTES: u32 = 50_000;
const MESSAGES: u32 = 10_000;

/// A share of a file, with a person or with a group.
pub struct Share {
    file: u32,
    by: u32,
    user: Option<u32>,
    group: Option<u32>,
}

/// Every reference of the data set; a row's id is its place, from one.
pub struct Data {
    /// (group, user)
    members: Vec<(u32, u32)>,
    /// Each file's creator.
    files: Vec<u32>,
    shares: Vec<Share>,
    /// Each story's author.
    stories: Vec<u32>,
    /// (story, tag)
    taggings: Vec<(u32, u32)>,
    /// (author, story)
    comments: Vec<(u32, u32)>,
    /// (user, story)
    votes: Vec<(u32, u32)>,
    /// (sender, receiver)
    messages: Vec<(u32, u32)>,
}

/// SplitMix64 (Steele, Lea, Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One to `count`, evenly.
    fn even(&mut self, count: u32) -> u32 {
        u32::try_from(self.next() % u64::from(count)).expect("a remainder is below its divisor") + 1
    }

    /// One to `count`, low numbers more often: the smaller of two.
    fn skewed(&mut self, count: u32) -> u32 {
        self.even(count).min(self.even(count))
    }
}

fn many<T>(count: u32, mut make: impl FnMut(u32) -> T) -> Vec<T> {
    (1..=count).map(&mut make).collect()
}

impl Data {
    /// The data set of a seed.
    pub fn new(seed: u64) -> Data {
        let mut random = Random(seed);
        let mut members = Vec::new();
        for group in 1..=GROUPS {
            // Every hundredth group has one member, whom it does not outlive.
            let size = if group % 100 == 7 { 1 } else { GROUP_MEMBERS };
            let mut users = BTreeSet::new();
            while users.len() < size as usize {
                users.insert(if size == 1 { group / 100 + 1 } else { random.skewed(USERS) });
            }
            members.extend(users.into_iter().map(|user| (group, user)));
        }
        let files = many(FILES, |_| random.skewed(USERS));
        let shares = many(SHARES, |number| {
            let file = random.even(FILES);
            // One share in ten is passed on by somebody else than the file's creator.
            let by = if number % 10 == 0 { random.skewed(USERS) } else { files[file as usize - 1] };
            let (user, group) = match number % 3 {
                0 => (None, Some(random.even(GROUPS))),
                _ => (Some(random.skewed(USERS)), None),
            };
            Share { file, by, user, group }
        });
        let stories = many(STORIES, |_| random.skewed(USERS));
        let taggings = many(TAGGINGS, |_| (random.even(STORIES), random.skewed(TAGS)));
        let comments = many(COMMENTS, |_| (random.skewed(USERS), random.skewed(STORIES)));
        let votes = many(VOTES, |_| (random.skewed(USERS), random.skewed(STORIES)));
        let messages = many(MESSAGES, |_| {
            let sender = random.skewed(USERS);
            // Nobody writes to themselves.
            (sender, (sender + random.even(USERS - 1) - 1) % USERS + 1)
        });
        Data { members, files, shares, stories, taggings, comments, votes, messages }
    }

    /// How many rows each table has, in the order of `TABLES`.
    pub fn counts(&self) -> [usize; TABLES.len()] {
        [
            self.comments.len(),
            self.files.len(),
            GROUPS as usize,
            self.members.len(),
            self.messages.len(),
            self.shares.len(),
            self.stories.len(),
            self.taggings.len(),
            TAGS as usize,
            USERS as usize,
            self.votes.len(),
        ]
    }

    /// What `user` owns and what `user` may merely access in each table, walked over the references by hand.
    pub fn rights(&self, user: u32) -> Vec<(&'static str, &'static str, usize)> {
        let groups: BTreeSet<u32> = self.members.iter().filter(|(_, member)| *member == user).map(|m| m.0).collect();
        let author = |story: u32| self.stories[story as usize - 1];
        let owns = |share: &Share| share.by == user || self.files[share.file as usize - 1] == user;
        let sees = |share: &Share| {
            !owns(share) && (share.user == Some(user) || share.group.is_some_and(|group| groups.contains(&group)))
        };
        let tags: BTreeSet<u32> = self.taggings.iter().filter(|t| author(t.0) == user).map(|t| t.1).collect();
        let rights = [
            ("comments", "owner", self.comments.iter().filter(|comment| comment.0 == user).count()),
            ("files", "owner", self.files.iter().filter(|creator| **creator == user).count()),
            ("groups", "owner", groups.len()),
            ("members", "owner", self.members.iter().filter(|member| member.1 == user).count()),
            ("messages", "owner", self.messages_of(user)),
            ("shares", "accessor", self.shares.iter().filter(|share| sees(share)).count()),
            ("shares", "owner", self.shares.iter().filter(|share| owns(share)).count()),
            ("stories", "owner", self.stories.iter().filter(|story| **story == user).count()),
            ("taggings", "owner", self.taggings.iter().filter(|tagging| author(tagging.0) == user).count()),
            ("tags", "accessor", tags.len()),
            ("users", "owner", 1),
            ("votes", "owner", self.votes.iter().filter(|vote| vote.0 == user).count()),
        ];
        rights.into_iter().filter(|(_, _, count)| *count > 0).collect()
    }

    /// The first story by somebody else that `user` and three others at least have commented on.
    pub fn discussion_of(&self, user: u32) -> Option<u32> {
        let shared = |story: u32| {
            let authors: BTreeSet<u32> = self.comments_on(story).into_iter().map(|(_, author)| author).collect();
            authors.contains(&user) && authors.len() > 3 && self.stories[story as usize - 1] != user
        };
        self.comments.iter().filter(|comment| comment.0 == user).map(|comment| comment.1).find(|story| shared(*story))
    }

    /// The comments on a story: (id, author).
    pub fn comments_on(&self, story: u32) -> Vec<(u32, u32)> {
        let numbered = (1..).zip(&self.comments).filter(|(_, comment)| comment.1 == story);
        numbered.map(|(id, comment)| (id, comment.0)).collect()
    }

    /// One more comment; its id.
    pub fn comment(&mut self, author: u32, story: u32) -> usize {
        self.comments.push((author, story));
        self.comments.len()
    }

    /// How many messages `user` sent or received.
    pub fn messages_of(&self, user: u32) -> usize {
        self.messages.iter().filter(|(sender, receiver)| *sender == user || *receiver == user).count()
    }

    /// Loads everything, by COPY and by INSERT of many rows, and tells each table's rows and time.
    pub fn load(&self, client: &mut Client, told: impl FnMut(&str, usize, Duration)) -> Result<(), Failure> {
        let mut load = Load { client, told };
        load.insert(
            "users",
            &many(USERS, |id| {
                format!("({id}, '{}', '{}', '2026-01-01Z'::timestamptz + interval '{id} minutes')", name(id), email(id))
            }),
        )?;
        load.insert("tags", &many(TAGS, |id| format!("({id}, 'tag {id}')")))?;

        // A group is nobody's until someone is its member: both in one transaction.
        load.client.batch_execute("BEGIN")?;
        load.copy("groups", "id, title", many(GROUPS, |id| format!("{id}\tgroup {id}")))?;
        load.copy(
            "members",
            "id, group_id, user_id, role",
            lines(&self.members, |(g, u)| format!("{g}\t{u}\twriter")),
        )?;
        load.copy(
            "files",
            "id, creator, name, bytes",
            lines(&self.files, |creator| {
                format!("{creator}\treport of {}.odt\t{}", name(*creator), u64::from(*creator) * 4_099)
            }),
        )?;
        load.copy(
            "shares",
            "id, file_id, shared_by, with_user, with_group",
            lines(&self.shares, |share| {
                format!("{}\t{}\t{}\t{}", share.file, share.by, nullable(share.user), nullable(share.group))
            }),
        )?;
        load.copy(
            "stories",
            "id, author, title, created_at",
            lines(&self.stories, |author| {
                format!("{author}\tWhat {} found\t2026-02-{:02} 08:00:00+00", name(*author), author % 28 + 1)
            }),
        )?;
        load.copy("taggings", "id, story_id, tag_id", lines(&self.taggings, |(story, tag)| format!("{story}\t{tag}")))?;
        load.copy(
            "comments",
            "id, author, story_id, body",
            lines(&self.comments, |(author, story)| {
                format!("{author}\t{story}\tI, {}, read number {story} with some doubt.", name(*author))
            }),
        )?;
        load.copy("votes", "id, user_id, story_id", lines(&self.votes, |(user, story)| format!("{user}\t{story}")))?;
        load.copy(
            "messages",
            "id, sender, receiver, body",
            lines(&self.messages, |(sender, receiver)| {
                format!("{sender}\t{receiver}\tDear colleague, the draft number {} is ready.", sender ^ receiver)
            }),
        )
    }
}

/// A connection that tables are loaded by, and who hears of each table's rows and time.
struct Load<'c, F> {
    client: &'c mut Client,
    told: F,
}

impl<F: FnMut(&str, usize, Duration)> Load<'_, F> {
    fn insert(&mut self, table: &str, rows: &[String]) -> Result<(), Failure> {
        let start = Instant::now();
        for batch in rows.chunks(500) {
            self.client.batch_execute(&format!("INSERT INTO {table} VALUES {}", batch.join(",")))?;
        }
        (self.told)(table, rows.len(), start.elapsed());
        Ok(())
    }

    fn copy(&mut self, table: &str, columns: &str, rows: Vec<String>) -> Result<(), Failure> {
        let start = Instant::now();
        let mut writer = self.client.copy_in(&format!("COPY {table} ({columns}) FROM STDIN"))?;
        for row in &rows {
            writeln!(writer, "{row}")?;
        }
        let count = writer.finish()?;
        if count != rows.len() as u64 {
            return Err(Failure::Claim(format!("COPY {table} took {count} rows of {}", rows.len())));
        }
        if table == "members" {
            self.client.batch_execute("COMMIT")?;
        }
        (self.told)(table, rows.len(), start.elapsed());
        Ok(())
    }
}

fn lines<T>(rows: &[T], line: impl Fn(&T) -> String) -> Vec<String> {
    let numbered = |(place, row): (usize, &T)| format!("{}\t{}", place + 1, line(row));
    rows.iter().enumerate().map(numbered).collect()
}

fn nullable(value: Option<u32>) -> String {
    let mut text = String::new();
    match value {
        Some(value) => write!(text, "{value}").expect("writing to a string does not fail"),
        None => text.push_str("\\N"),
    }
    text
}

/// A person's name.
pub fn name(user: u32) -> String {
    const GIVEN: [&str; 12] =
        ["Ada", "Ben", "Chidi", "Dora", "Emil", "Fatma", "Goro", "Hana", "Ines", "Jan", "Kofi", "Lena"];
    const FAMILY: [&str; 9] = ["Adeyemi", "Berg", "Costa", "Duarte", "Eriksen", "Farouk", "Graf", "Horvat", "Ito"];
    format!("{} {} {user}", GIVEN[user as usize % GIVEN.len()], FAMILY[user as usize % FAMILY.len()])
}

/// A person's address, that stands nowhere else.
pub fn email(user: u32) -> String {
    format!("person-{user}@mail.example")
}
