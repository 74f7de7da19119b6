//! File sharing as in ownCloud: people, groups of five, three files each, every file shared with three people and two groups.
//!
//! All rows follow from their numbers and the seed, so that the client knows what each person must see, and checks every answer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use postgres::Row;

use crate::maintained::copy_by;
use crate::measure::Random;
use crate::server::{Failure, Kind, Server};

/// Members of a group.
pub const GROUP_MEMBERS: u64 = 5;
const FILES_EACH: u64 = 3;
const USER_SHARES: u64 = 3;
const GROUP_SHARES: u64 = 2;
const STORAGES: u64 = 10;
/// Files of a transaction while the tables are filled.
const FILES_AT_ONCE: usize = 5_000;

/// What each person sees, as a view that both systems expand; a condition on `uid` follows.
pub const VIEW_FILES: &str = "SELECT uid, share, file, path, storage FROM visible_files";
const VISIBLE_FILES: &str = "CREATE VIEW visible_files AS
    SELECT s.share_with AS uid, s.id AS share, s.item_source AS file, f.path, st.id AS storage
        FROM oc_share s LEFT JOIN oc_filecache f ON f.fileid = s.item_source LEFT JOIN oc_storages st ON st.numeric_id = f.storage
    UNION ALL
    SELECT g.uid, s.id, s.item_source, f.path, st.id
        FROM oc_share s JOIN oc_group_user g ON g.gid = s.share_with_group
        LEFT JOIN oc_filecache f ON f.fileid = s.item_source LEFT JOIN oc_storages st ON st.numeric_id = f.storage";

/// The same as one value for each person, in lines as a cache keeps it; a condition on `uid` follows, then `GROUPED`.
pub const VIEW_LISTS: &str = "SELECT uid, string_agg(share::text || E'\\t' || file::text || E'\\t' || path || E'\\t' || storage, E'\\n') FROM visible_files";
/// The end of that.
pub const GROUPED: &str = " GROUP BY uid";

/// A row of what a person sees, decoded.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    user: u64,
    share: u64,
    file: u64,
    path: &'a str,
    storage: &'a str,
}

impl<'a> Shown<'a> {
    /// From a row of `VIEW_FILES`.
    pub fn of_row(row: &'a Row) -> Result<Shown<'a>, Failure> {
        Ok(Shown {
            user: user(row.try_get(0)?)?,
            share: u64::try_from(row.try_get::<_, i32>(1)?)?,
            file: u64::try_from(row.try_get::<_, i32>(2)?)?,
            path: row.try_get::<_, Option<&str>>(3)?.ok_or("a file without a path")?,
            storage: row.try_get::<_, Option<&str>>(4)?.ok_or("a file without a storage")?,
        })
    }

    /// The rows of one value: a list of a person, from a cache or from `VIEW_LISTS`.
    pub fn of_list(user: u64, list: &'a str, into: &mut Vec<Shown<'a>>) -> Result<(), Failure> {
        for line in list.lines() {
            let mut words = line.split('\t');
            let (Some(share), Some(file), Some(path), Some(storage), None) =
                (words.next(), words.next(), words.next(), words.next(), words.next())
            else {
                return Err(format!("a line of other words in the list of person {user}").into());
            };
            into.push(Shown { user, share: share.parse()?, file: file.parse()?, path, storage });
        }
        Ok(())
    }
}

/// How a share is said to be seen by whom it is shared with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// They may access it.
    Accessors,
    /// They own it too, as one would have to say without accessors.
    Owners,
}

/// Whom a file is shared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A person.
    User(u64),
    /// A group.
    Group(u64),
}

/// A person's name.
pub fn uid(user: u64) -> String {
    format!("user{user}")
}

/// Whose name it is.
pub fn user(uid: &str) -> Result<u64, Failure> {
    Ok(uid.strip_prefix("user").ok_or("a row of nobody")?.parse()?)
}

/// A group's name.
pub fn gid(group: u64) -> String {
    format!("group{group}")
}

/// Under which key a cache keeps what a person sees.
pub fn cache_key(user: u64) -> String {
    format!("files:{user}")
}

/// The path of a file.
pub fn path(file: u64) -> String {
    format!("files/documents/{file:08}.odt")
}

fn storage(file: u64) -> String {
    format!("home::{}", file % STORAGES)
}

/// The whole data set.
pub struct Files {
    /// How many people.
    pub users: u64,
    seed: u64,
    next_share: AtomicU64,
    /// Shares that came and were acknowledged.
    written: AtomicU64,
    /// For each person: the shares that they see for certain, and those that they may see.
    seen: Vec<(AtomicU32, AtomicU32)>,
    /// The shares at the beginning, for each person.
    first: Vec<Vec<u64>>,
    /// Of each file, and of each storage: made once, so that checking costs the client little.
    paths: Vec<String>,
    storages: Vec<String>,
}

impl Files {
    /// For so many people, the same for the same seed.
    pub fn new(users: u64, seed: u64) -> Files {
        let users = users / GROUP_MEMBERS * GROUP_MEMBERS;
        let mut files = Files {
            users,
            seed,
            next_share: AtomicU64::new(users * FILES_EACH * (USER_SHARES + GROUP_SHARES)),
            written: AtomicU64::new(0),
            seen: (0..users).map(|_| Default::default()).collect(),
            first: vec![Vec::new(); users as usize],
            paths: (0..users * FILES_EACH).map(path).collect(),
            storages: (0..STORAGES).map(storage).collect(),
        };
        for share in 0..files.shares() {
            for user in members(files.target(share)) {
                files.first[user as usize].push(share);
            }
        }
        for (seen, first) in files.seen.iter().zip(&files.first) {
            let count = first.len() as u32;
            seen.0.store(count, Ordering::SeqCst);
            seen.1.store(count, Ordering::SeqCst);
        }
        files
    }

    /// Files at the beginning, and always.
    pub fn count(&self) -> u64 {
        self.users * FILES_EACH
    }

    /// Shares at the beginning.
    pub fn shares(&self) -> u64 {
        self.count() * (USER_SHARES + GROUP_SHARES)
    }

    fn mixed(&self, share: u64) -> u64 {
        let mut mixed = (share + self.seed * 0x1000_0001).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^= mixed >> 29;
        mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 17
    }

    /// The file of a share.
    pub fn file(&self, share: u64) -> u64 {
        if share < self.shares() {
            share / (USER_SHARES + GROUP_SHARES)
        } else {
            self.mixed(share * 3 + 1) % self.count()
        }
    }

    /// Whom a share is with.
    pub fn target(&self, share: u64) -> Target {
        let with_user = if share < self.shares() {
            share % (USER_SHARES + GROUP_SHARES) < USER_SHARES
        } else {
            share.is_multiple_of(2)
        };
        if with_user {
            Target::User(self.mixed(share) % self.users)
        } else {
            Target::Group(self.mixed(share) % (self.users / GROUP_MEMBERS))
        }
    }

    /// A new share's number, with a person or with a group: its target follows from it.
    pub fn fresh_share(&self, with_user: bool) -> u64 {
        loop {
            let share = self.next_share.fetch_add(1, Ordering::SeqCst);
            if share.is_multiple_of(2) == with_user {
                return share;
            }
        }
    }

    /// A share is about to be written: whom it is with may see it from now on.
    pub fn begin(&self, share: u64) {
        for user in members(self.target(share)) {
            self.seen[user as usize].1.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A share was acknowledged: whom it is with must see it from now on.
    pub fn acknowledge(&self, share: u64) {
        self.written.fetch_add(1, Ordering::SeqCst);
        for user in members(self.target(share)) {
            self.seen[user as usize].0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// How many rows a person must see at least.
    pub fn seen(&self, user: u64) -> u32 {
        self.seen[user as usize].0.load(Ordering::SeqCst)
    }

    /// Shares that have been acknowledged, with those at the beginning.
    pub fn acknowledged(&self) -> i64 {
        self.written.load(Ordering::SeqCst) as i64 + self.shares() as i64
    }

    /// Is this what those people must see, and of each at least so many?
    pub fn check(&self, shown: &[Shown<'_>], users: &[u64], least: &[u32]) -> Result<(), Failure> {
        let mut found: BTreeMap<u64, Vec<u64>> = users.iter().map(|&user| (user, Vec::new())).collect();
        for &Shown { user, share, file, path, storage } in shown {
            let right = file == self.file(share)
                && file < self.count()
                && members(self.target(share)).any(|member| member == user)
                && path == self.paths[file as usize]
                && storage == self.storages[(file % STORAGES) as usize];
            if !right {
                return Err(format!("a wrong row: share {share} of file {file} for person {user}").into());
            }
            found.get_mut(&user).ok_or("a row of somebody else")?.push(share);
        }
        for (&user, &least) in users.iter().zip(least) {
            let mut shares = found.remove(&user).unwrap_or_default();
            shares.sort_unstable();
            let count = shares.len() as u32;
            shares.dedup();
            let most = self.seen[user as usize].1.load(Ordering::SeqCst);
            if shares.len() as u32 != count || count < least || count > most {
                return Err(format!("person {user} saw {count} rows, {} of them different; at least {least} and at most {most} are right", shares.len()).into());
            }
        }
        Ok(())
    }

    /// How many rows a cache must show to a person: those of the beginning, as shares that came later may be missing.
    pub fn seen_first(&self, user: u64) -> u32 {
        self.first[user as usize].len() as u32
    }

    /// What a cache keeps of what a person sees at the beginning.
    pub fn cached(&self, user: u64) -> String {
        let lines = self.first[user as usize].iter().map(|&share| {
            let file = self.file(share);
            format!("{share}\t{file}\t{}\t{}", path(file), storage(file))
        });
        lines.collect::<Vec<String>>().join("\n")
    }

    /// A line of a share, as COPY wants it.
    fn line(&self, share: u64) -> String {
        let file = self.file(share);
        let owner = uid(file / FILES_EACH);
        match self.target(share) {
            Target::User(user) => format!("{share}\t0\t{}\t\\N\t{owner}\t\\N\t{file}\tfile\t1\t1700000000", uid(user)),
            Target::Group(group) => {
                format!("{share}\t1\t\\N\t{}\t{owner}\t\\N\t{file}\tfile\t1\t1700000000", gid(group))
            }
        }
    }

    /// Who shares a file.
    pub fn owner(&self, share: u64) -> String {
        uid(self.file(share) / FILES_EACH)
    }

    /// Makes the tables and fills them.
    pub fn fill(&self, server: &Server, access: Access) -> Result<(), Failure> {
        let mut client = server.connect()?;
        let ours = server.kind == Kind::Dogwood;
        let (subject, plain) = if ours { ("DATA_SUBJECT ", "REFERENCES ONLY") } else { ("", "REFERENCES") };
        let (owned, owns) = if ours { ("OWNED_BY", "OWNS") } else { ("REFERENCES", "REFERENCES") };
        let accessed = match (ours, access) {
            (true, Access::Accessors) => "ACCESSED_BY",
            (true, Access::Owners) => "OWNED_BY",
            (false, _) => "REFERENCES",
        };
        client.batch_execute(&format!(
            "CREATE {subject}TABLE oc_users (uid text PRIMARY KEY, displayname text);
             CREATE TABLE oc_storages (numeric_id int PRIMARY KEY, id text NOT NULL);
             CREATE TABLE oc_groups (gid text PRIMARY KEY);
             CREATE TABLE oc_files (id int PRIMARY KEY, file_name text NOT NULL);
             CREATE TABLE oc_group_user (id int PRIMARY KEY, gid text NOT NULL {owns} oc_groups(gid), uid text NOT NULL {owned} oc_users(uid));
             CREATE TABLE oc_share (id int PRIMARY KEY, share_type int NOT NULL, share_with text {accessed} oc_users(uid),
                share_with_group text {accessed} oc_groups(gid), uid_owner text NOT NULL {owned} oc_users(uid),
                uid_initiator text {plain} oc_users(uid), item_source int NOT NULL {owns} oc_files(id), item_type text, permissions int, stime bigint);
             CREATE TABLE oc_filecache (fileid int PRIMARY KEY {owned} oc_files(id), storage int NOT NULL {plain} oc_storages(numeric_id),
                path text NOT NULL, size bigint NOT NULL);
             {VISIBLE_FILES}"
        ))?;
        if !ours {
            client.batch_execute(
                "CREATE INDEX ON oc_group_user (gid); CREATE INDEX ON oc_group_user (uid); CREATE INDEX ON oc_share (share_with);
                 CREATE INDEX ON oc_share (share_with_group); CREATE INDEX ON oc_share (uid_owner); CREATE INDEX ON oc_share (item_source);
                 CREATE INDEX ON oc_filecache (storage)",
            )?;
        }
        let client = &mut client;
        copy_by(client, "oc_users", (0..self.users).map(|user| format!("{}\tPerson {user}", uid(user))))?;
        copy_by(client, "oc_storages", (0..STORAGES).map(|place| format!("{place}\thome::{place}")))?;
        // Whoever owns a row has to be there when the row's transaction ends.
        client.batch_execute("BEGIN")?;
        copy_by(client, "oc_groups", (0..self.users / GROUP_MEMBERS).map(gid))?;
        copy_by(
            client,
            "oc_group_user",
            (0..self.users).map(|user| format!("{user}\t{}\t{}", gid(user / GROUP_MEMBERS), uid(user))),
        )?;
        client.batch_execute("COMMIT")?;
        for first in (0..self.count()).step_by(FILES_AT_ONCE) {
            let files = first..self.count().min(first + FILES_AT_ONCE as u64);
            let shares = files.start * (USER_SHARES + GROUP_SHARES)..files.end * (USER_SHARES + GROUP_SHARES);
            client.batch_execute("BEGIN")?;
            copy_by(client, "oc_files", files.clone().map(|file| format!("{file}\t{file:08}.odt")))?;
            copy_by(client, "oc_share", shares.map(|share| self.line(share)))?;
            client.batch_execute("COMMIT")?;
            copy_by(
                client,
                "oc_filecache",
                files.map(|file| format!("{file}\t{}\t{}\t1000", file % STORAGES, path(file))),
            )?;
        }
        if !ours {
            client.batch_execute("VACUUM ANALYZE")?;
        }
        Ok(())
    }
}

/// One of a person's files.
pub fn file_of(user: u64, random: &mut Random) -> u64 {
    user * FILES_EACH + random.below(FILES_EACH)
}

/// The people whom a share is with.
pub fn members(target: Target) -> impl Iterator<Item = u64> {
    match target {
        Target::User(user) => user..user + 1,
        Target::Group(group) => group * GROUP_MEMBERS..(group + 1) * GROUP_MEMBERS,
    }
}
