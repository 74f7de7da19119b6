//! The command line, read by hand: few options, exact complaints.

mod auditing;
mod backups;
mod registers;
mod root_key;

use crate::log::{Format, Levels};
use crate::verify::VerifyBackup;
pub use auditing::{ExportCapsule, MergeCapsules, Prove, Publish, Verify};
pub use backups::Backup;
use backups::{OF_SERVE, Targets};
use engine::backup::{BackupOrder, RestoreOrder};
use engine::{RootKeySource, Rotation};
use root_key::Which;
use std::ffi::OsString;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;
use wire::admission::WayIn;
use wire::import::Import;
use wire::lint::Lint;
use wire::mask::Masking;
use wire::report::ReportOptions;

/// How long a client that asks again at once is waited for awake, if nothing is said: about as long as one on the same machine
/// takes, whose point reads come half as often again for it.
const AWAKE: Duration = Duration::from_micros(50);

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Dogwood: a database that people own their rows in, spoken to as PostgreSQL.

Usage:
  dogwood serve --data DIR [--listen ADDRESS:PORT]
                [--insecure [--known-names]]
                [--tls-cert FILE --tls-key FILE] [--client-ca FILE]
                [--rules FILE] [--identities FILE] [--block-cache-mb N]
                [--connections N] [--awake-us N] [--keep-free-mb N]
                [--view-workers N] [--log-format text|json]
                [--log-level LEVELS] [-c NAME=VALUE]… [--salvage]
                [--publish-head FILE|URL]... [--publish-every SECONDS]
                [--refer-to FILE]... [--refer-key public.key]...
                [--ship-to TARGET --ship-keys-to TARGET
                 [--keep-backups DAYS] [--keep-keys DAYS]]
                [ROOT KEY]
  dogwood check --data DIR [--repair] [ROOT KEY]
  dogwood backup --data DIR --to TARGET --keys-to TARGET [--incremental]
                 [--keep-backups DAYS] [--keep-keys DAYS] [ROOT KEY]
  dogwood verify-backup --key public.key --from TARGET
                 [--head FILE|NUMBER:HASH]...
  dogwood restore --from TARGET --keys TARGET [--to MOMENT] [--ledger FILE]
                  --data DIR [--overwrite] [--unchecked] [ROOT KEY]
  dogwood import --data DIR [--database NAME] [--as-text] [--keep-going] FILE
  dogwood lint [--json] [--impersonal TABLE]... FILE
  dogwood mask [--key KEYFILE] [--keep COLUMN]... [--mask COLUMN]...
                [--null COLUMN]... [--no-security-labels] FILE TO
  dogwood report --data DIR --html|--csv|--jsonld [--database NAME]
                 [ROOT KEY] FILE
  dogwood rotate --data DIR [--root [NEW ROOT KEY]] [ROOT KEY]
  dogwood shred --data DIR [ROOT KEY]
  dogwood export-capsule --data DIR [--from NUMBER] [ROOT KEY] FILE
  dogwood prove --data DIR --entry NUMBER|--record NUMBER [--head FILE]
                [ROOT KEY] FILE
  dogwood merge-capsules --key public.key... FILE CAPSULE...
  dogwood verify --key public.key... [--head FILE|NUMBER:HASH]... FILE
  dogwood --help | --version

serve    Opens the data folder (made at first start) and listens, on
         127.0.0.1:5432 by default; port 0 takes a free one. Prints
         \"listening on ADDRESS:PORT\" when ready. SIGTERM and SIGINT stop it.
         First start writes the password of the login \"controller\" to
         DIR/controller.secret and a self-signed certificate to DIR/server.crt.
  --insecure   no TLS and no password: any user connects with full rights; on a loopback address only
  --known-names
               with --insecure, only names of roles and databases that there
               are, and \"postgres\", which has full rights
  --tls-cert, --tls-key
               your own certificate chain and private key, in PEM
  --client-ca  authorities, in PEM, whose certificates for clients hold
  --rules      who may come in from where, and how they show who they are, in
               the form of pg_hba.conf; DIR/pg_hba.conf if that is there. Else
               everybody by password. SIGHUP has it read again
  --identities what roles the names in certificates are, in the form of
               pg_ident.conf; DIR/pg_ident.conf if that is there
  --block-cache-mb
               memory for blocks of the data files; 256 by default. Opened
               rows that are read again take up to a quarter of it beside
  --connections
               clients at once; 1000 by default, or as many as the file
               descriptors last for if that is less
  --awake-us   microseconds (1000 at most) that a client which asks again at
               once is waited for awake, while it is the only one and no other
               program wants the processor; 50 by default, 0 sleeps always
  --keep-free-mb
               of the data folder's disk, for erasures and merging: writes are
               refused before it is used up; 64 by default, 0 for nothing
  --view-workers
               threads that keep views up to date; by default one less than
               there are processors, and four at least
  --log-format
               how the log stands on standard error: text, or an object of
               JSON a line
  --log-level  off, error, warning, info or debug; info by default. Others for
               some targets behind it: info,views=debug
  -c           a setting, as sessions begin with it: -c log_connections=on
  --salvage    read a damaged folder as far as it can be, to dump what is
               left; no data is written
  --publish-head
               where the audit log ends is told, signed, to a file or by HTTP to a
               witness, while it goes on; any number of them
  --publish-every
               how often, in seconds; 10 by default
  --refer-to, --refer-key
               files to which other databases publish their heads, and their
               public keys: the audit log refers to them, as often, so that
               each vouches for the others
  --ship-to, --ship-keys-to
               what is written goes to these targets within seconds, behind a
               backup that the server takes by itself
check    Reads a stopped server's data folder and prints what is wrong with
         it; exit status 1 if anything is. Writes nothing.
  --repair     first writes anew what stands twice or can be derived: a copy
               of a key, \"public.key\", \"CURRENT\", the witness
backup   Takes a backup, of a running server's folder or a stopped one's: the
         data, sealed as they are, and apart from them the keys. TARGET is a
         folder, or s3://BUCKET/PREFIX with AWS_ACCESS_KEY_ID,
         AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL in the environment.
  --incremental
               brings only files that the target does not have yet
  --keep-backups
               older backups there are removed, and what only they need
  --keep-keys  older key backups there are removed; 7 days by default
verify-backup
         Reads every block of the backups there, and of the log behind them,
         against the public key; needs no server and no other key.
  --head       published heads, as of \"verify\": finds that the end of the log is
               missing
restore  Makes a data folder from a backup and the log behind it, without those
         who were forgotten since, whatever the backup holds of them.
  --to         up to where: a time, commit:NUMBER, or record:NUMBER of the audit
               log; all there is by default
  --ledger     the ledger of erasures, if it is not beside the backups
  --overwrite  what DIR holds goes, but for its root key
  --unchecked  without \"dogwood check\" of what comes out, which reads every row
import   Reads a dump of PostgreSQL (pg_dump: text, archive or folder; \"-\" is
         standard input) into a stopped server's data folder, and prints what
         was left out and why; exit status 1 if rows were, or it stopped
  --database   into which database; \"postgres\" by default
  --as-text    columns of types that are not here become text, and of domains
               what these are made of
  --keep-going errors are reported, and stop nothing
lint     Reads a schema as pg_dump writes it (text, archive or folder; \"-\" is
         standard input), and says what annotations it is missing, with their
         lines and with statements that would annotate it. Needs no server and no
         folder. Exit status 0 if none is missing, 1 if some are, 2 if a table
         could not be read
  --json       as one object of JSON
  --impersonal the columns of this table look personal and are not
mask     Writes to TO a copy of a dump of pg_dump's for test systems: columns of
         people's rows hold pseudonyms of the same type and shape, the same for
         the same value. TO may be \"-\". Needs no server and no folder
  --key        a file of 16 bytes or more: the same key, the same pseudonyms;
               without it one is made, and nobody keeps it
  --keep       this column (table.column) holds nothing personal
  --mask       this one does
  --null       this one becomes NULL
  --no-security-labels
               annotations are left out, for PostgreSQL
report   Writes the registers of a running server's or stopped one's folder to
         FILE (\"-\" is standard output): processing activities, data map,
         inventory, retention schedule, inputs of an impact assessment
  --html       a page to print, with the graph drawn
  --csv        tables
  --jsonld     JSON-LD of the Data Privacy Vocabulary
  --database   of which database; \"postgres\" by default
rotate   Rewrites a stopped server's data keys under a fresh key-encryption key,
         and destroys the old one. A running server does it by itself:
         see the setting dogwood.key_rotation
  --root       the root key becomes another, too: a new one in the present
               one's file, or NEW ROOT KEY
shred    The same, and overwrites all of the old keyring's file
export-capsule
         Writes a stopped server's audit log to FILE (\"-\" is standard output),
         for \"verify\". It holds no personal data
  --from       no record before this one is needed: the log begins at the signed
               checkpoint before it
prove    Writes to FILE that one record stands in a stopped server's audit log,
         for \"verify\": the record, and hashes from the head back to it
  --entry      the entry whose record it is, by its number in dogwood.audit
  --record     the record, by its own number
  --head       the file of published heads; proved from the newest that reaches it
merge-capsules
         Puts exported audit logs of several databases, and merged ones, into
         FILE, for \"verify\"; nothing that does not verify
  --key        the public key of each
verify   Checks an exported audit log, merged ones, a proof or a receipt against
         the public key that the operator published; needs no server.
  --key        several for merged logs: each is checked by its own
  --head       published heads, a file of them or one as NUMBER:HASH: finds
               records cut off at the end, and others in their place

ROOT KEY is where the root key is, if not in DIR/root.key:
  --root-key-file    a file of mode 0600 with 64 hexadecimal digits
  --root-key-env     a variable of the environment with these digits
  --passphrase-file  a file of mode 0600 with a passphrase
  --passphrase-env   a variable of the environment with a passphrase
NEW ROOT KEY is where the next one is to be: --new-root-key-file,
--new-root-key-env, --new-passphrase-file or --new-passphrase-env.
";

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Run the server.
    Serve(Serve),
    /// Check a data folder.
    Check {
        /// Which.
        data: PathBuf,
        /// Repair it first.
        repair: bool,
        /// Where the root key is.
        root_key: RootKeySource,
    },
    /// Take a backup.
    Backup(Backup),
    /// Check backups.
    VerifyBackup(VerifyBackup),
    /// Make a folder from a backup.
    Restore(RestoreOrder),
    /// Look at a schema.
    Lint(Lint),
    /// Write a dump with pseudonyms.
    Mask(Masking),
    /// Write the registers to a file.
    Report(ReportOptions),
    /// Replace the key-encryption key.
    Rotate(Rotate),
    /// Read a dump.
    Import(Import),
    /// Write the audit log to a file.
    ExportCapsule(ExportCapsule),
    /// Prove one record of the audit log.
    Prove(Prove),
    /// Put audit logs of several databases together.
    MergeCapsules(MergeCapsules),
    /// Check a receipt or an audit log.
    Verify(Verify),
}

/// `serve`'s options.
#[derive(Debug, PartialEq, Eq)]
pub struct Serve {
    /// The data folder.
    pub data: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Plain text on loopback.
    pub insecure: bool,
    /// And who is not known is refused.
    pub known_names: bool,
    /// Clients at once, unless as many as usual.
    pub connections_max: Option<usize>,
    /// How long to wait awake for a client that asks again at once.
    pub awake: Duration,
    /// The block cache, unless it has its usual size.
    pub block_cache_bytes: Option<usize>,
    /// What is kept free on the disk, unless as much as usual.
    pub keep_free_bytes: Option<u64>,
    /// Threads that keep views up to date, if not as many as usual.
    pub view_workers: Option<usize>,
    /// Only read, whatever can be.
    pub salvage: bool,
    /// Files that say who may come in.
    pub way_in: WayIn,
    /// How the log is written.
    pub log_format: Format,
    /// What of it.
    pub log_levels: Levels,
    /// Settings that all sessions begin with.
    pub settings: Vec<(String, String)>,
    /// Where the root key is.
    pub root_key: RootKeySource,
    /// Where heads of the audit log go.
    pub publish: Publish,
    /// Where the log goes, if anywhere.
    pub ship: Option<BackupOrder>,
}

/// `rotate`'s and `shred`'s options.
#[derive(Debug, PartialEq, Eq)]
pub struct Rotate {
    /// Which folder.
    pub data: PathBuf,
    /// How much of the old file is overwritten.
    pub rotation: Rotation,
    /// Where the root key is.
    pub root_key: RootKeySource,
    /// Whether it becomes another: where that is, if it is not a new one in the same file.
    pub root: Option<Option<RootKeySource>>,
}

/// Why the arguments are not understood.
#[derive(Debug, PartialEq, Eq)]
pub enum ArgumentError {
    /// Nothing was given.
    NoCommand,
    /// There is no such command.
    UnknownCommand(String),
    /// There is no such option of this command.
    UnknownOption(String),
    /// An option stands without its value.
    MissingValue(&'static str),
    /// An option that the command needs is not there.
    MissingOption(&'static str),
    /// Not a number of threads.
    Workers(String),
    /// An option was given twice.
    Repeated(&'static str),
    /// Not a number of connections.
    Connections(String),
    /// Not the number of a record.
    Record(String),
    /// Not a number of microseconds.
    Microseconds(String),
    /// Not a number of megabytes.
    Megabytes(String),
    /// Not an address and port.
    Address(String),
    /// Not a format of the log.
    LogFormat(String),
    /// Not levels of the log.
    LogLevel(String),
    /// Not a setting and its value.
    Setting(String),
    /// Not a number of seconds.
    Seconds(String),
    /// Neither an entry nor a record is named.
    NothingToProve,
    /// Not the name of a variable.
    Variable(String),
    /// Not a target's name.
    Target(String),
    /// Not a number of days.
    Days(String),
    /// Not a moment to restore to.
    Moment(String),
    /// A new root key without being asked to use it.
    NewWithoutRoot,
    /// Rules for who may come in where everybody may.
    InsecureRules,
    /// One of the certificate's options without the other.
    HalfCertificate,
    /// `--known-names` where no other names come in.
    KnownNames,
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArgumentError::NoCommand => f.write_str("no command given"),
            ArgumentError::UnknownCommand(word) => write!(f, "unknown command \"{word}\""),
            ArgumentError::UnknownOption(word) => write!(f, "unknown option \"{word}\""),
            ArgumentError::MissingValue(option) => write!(f, "{option} needs a value"),
            ArgumentError::MissingOption(option) => write!(f, "{option} is needed"),
            ArgumentError::Repeated(option) => write!(f, "{option} is given twice"),
            ArgumentError::Record(text) => write!(f, "\"{text}\" is not the number of a record"),
            ArgumentError::Connections(text) => {
                write!(f, "\"{text}\" is not a number of connections from 1 to 100000")
            }
            ArgumentError::Microseconds(text) => {
                write!(f, "\"{text}\" is not a number of microseconds from 0 to 1000")
            }
            ArgumentError::Megabytes(text) => {
                write!(f, "\"{text}\" is not a number of megabytes from 1 to 1048576")
            }
            ArgumentError::Address(text) => write!(f, "\"{text}\" is not an address and port"),
            ArgumentError::LogFormat(text) => write!(f, "\"{text}\" is not a format of the log: text or json"),
            ArgumentError::LogLevel(text) => {
                write!(
                    f,
                    "\"{text}\" is not a level of the log (off, error, warning, info, debug), with others for targets behind it"
                )
            }
            ArgumentError::Setting(text) => write!(f, "\"{text}\" is not the name of a setting and its value"),
            ArgumentError::Workers(text) => write!(f, "\"{text}\" is not a number of threads from 1 to 64"),
            ArgumentError::Seconds(text) => write!(f, "\"{text}\" is not a number of seconds from 1 to 86400"),
            ArgumentError::NothingToProve => f.write_str("--entry or --record is needed"),
            ArgumentError::Variable(text) => write!(f, "\"{text}\" is not the name of a variable"),
            ArgumentError::Target(text) => write!(f, "\"{text}\" is not the name of a target"),
            ArgumentError::Days(text) => write!(f, "\"{text}\" is not a number of days from 0 to 36500"),
            ArgumentError::Moment(text) => {
                write!(f, "\"{text}\" is neither a time nor commit:NUMBER nor record:NUMBER")
            }
            ArgumentError::NewWithoutRoot => f.write_str("a new root key goes together with --root"),
            ArgumentError::InsecureRules => f.write_str(
                "with --insecure everybody may come in: --rules, --identities and --client-ca say otherwise",
            ),
            ArgumentError::KnownNames => {
                f.write_str("--known-names goes together with --insecure: else no other name comes in")
            }
            ArgumentError::HalfCertificate => f.write_str("--tls-cert and --tls-key go together"),
        }
    }
}

/// Reads the arguments after the program's name.
pub fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Command, ArgumentError> {
    let mut arguments = arguments;
    let command = arguments.next().ok_or(ArgumentError::NoCommand)?;
    let mut options = Options { arguments };
    match command.to_str() {
        Some("--help" | "-h" | "help") => Ok(Command::Help),
        Some("--version" | "-V") => Ok(Command::Version),
        Some("serve") => serve(&mut options),
        Some("check") => check(&mut options),
        Some("backup") => backups::backup(&mut options),
        Some("verify-backup") => backups::verify_backup(&mut options),
        Some("restore") => backups::restore(&mut options),
        Some("import") => import(&mut options),
        Some("lint") => registers::lint(&mut options),
        Some("mask") => registers::mask(&mut options),
        Some("report") => registers::report(&mut options),
        Some("rotate") => rotate(&mut options, Rotation::Rotate),
        Some("shred") => rotate(&mut options, Rotation::Shred),
        Some("export-capsule") => auditing::export_capsule(&mut options),
        Some("prove") => auditing::prove(&mut options),
        Some("merge-capsules") => auditing::merge_capsules(&mut options),
        Some("verify") => auditing::verify(&mut options),
        _ => Err(ArgumentError::UnknownCommand(command.to_string_lossy().into_owned())),
    }
}

struct Options<I> {
    arguments: I,
}

impl<I: Iterator<Item = OsString>> Options<I> {
    fn value(&mut self, option: &'static str) -> Result<OsString, ArgumentError> {
        self.arguments.next().ok_or(ArgumentError::MissingValue(option))
    }

    fn parsed<T>(
        &mut self,
        option: &'static str,
        into: &mut Option<T>,
        parse: fn(&str) -> Result<T, ArgumentError>,
    ) -> Result<(), ArgumentError> {
        let value = self.value(option)?;
        set(option, into, parse(&value.to_string_lossy())?)
    }

    fn path(&mut self, option: &'static str, into: &mut Option<PathBuf>) -> Result<(), ArgumentError> {
        let value = self.value(option)?;
        set(option, into, value.into())
    }
}

fn set<T>(option: &'static str, into: &mut Option<T>, value: T) -> Result<(), ArgumentError> {
    match into.replace(value) {
        None => Ok(()),
        Some(_) => Err(ArgumentError::Repeated(option)),
    }
}

fn unknown(word: &std::ffi::OsStr) -> ArgumentError {
    ArgumentError::UnknownOption(word.to_string_lossy().into_owned())
}

fn serve<I: Iterator<Item = OsString>>(options: &mut Options<I>) -> Result<Command, ArgumentError> {
    let (mut data, mut listen, mut certificate, mut key) = (None, None, None, None);
    let (mut insecure, mut known_names) = (None, None);
    let (mut block_cache_bytes, mut connections_max, mut awake) = (None, None, None);
    let (mut keep_free_bytes, mut view_workers, mut salvage) = (None, None, None);
    let (mut log_format, mut log_levels, mut settings, mut root_key) = (None, None, Vec::new(), None);
    let mut way_in = WayIn::default();
    let (mut targets, mut publish) = (Targets::default(), Publish::default());
    while let Some(word) = options.arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--data") => options.path("--data", &mut data)?,
            Some("--listen") => options.parsed("--listen", &mut listen, address)?,
            Some("--insecure") => set("--insecure", &mut insecure, true)?,
            Some("--known-names") => set("--known-names", &mut known_names, true)?,
            Some("--connections") => options.parsed("--connections", &mut connections_max, connections)?,
            Some("--awake-us") => options.parsed("--awake-us", &mut awake, microseconds)?,
            Some("--log-format") => options.parsed("--log-format", &mut log_format, format)?,
            Some("--log-level") => options.parsed("--log-level", &mut log_levels, levels)?,
            Some("-c") => settings.push(setting(&options.value("-c")?.to_string_lossy())?),
            Some("--salvage") => set("--salvage", &mut salvage, true)?,
            Some("--keep-free-mb") => options.parsed("--keep-free-mb", &mut keep_free_bytes, kept)?,
            Some("--view-workers") => options.parsed("--view-workers", &mut view_workers, workers)?,
            Some("--block-cache-mb") => options.parsed("--block-cache-mb", &mut block_cache_bytes, megabytes)?,
            _ if targets.read(&OF_SERVE, &word, options)? => {}
            _ if publish.read(&word, options)? => {}
            _ if Which::Present.read(&word, options, &mut root_key)? => {}
            _ if read_way_in(&word, options, &mut way_in, (&mut certificate, &mut key))? => {}
            _ => return Err(unknown(&word)),
        }
    }
    if insecure.is_some() && way_in != WayIn::default() {
        return Err(ArgumentError::InsecureRules);
    }
    if known_names.is_some() && insecure.is_none() {
        return Err(ArgumentError::KnownNames);
    }
    way_in.certificate = pair(certificate, key)?;
    Ok(Command::Serve(Serve {
        data: data.ok_or(ArgumentError::MissingOption("--data"))?,
        listen: listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 5432))),
        insecure: insecure.is_some(),
        known_names: known_names.is_some(),
        block_cache_bytes,
        keep_free_bytes,
        view_workers,
        salvage: salvage.is_some(),
        connections_max,
        awake: awake.unwrap_or(AWAKE),
        way_in,
        log_format: log_format.unwrap_or(Format::Text),
        log_levels: log_levels.unwrap_or_default(),
        settings,
        root_key: root_key.unwrap_or(RootKeySource::DataFolder),
        publish: publish.checked()?,
        ship: targets.order(&OF_SERVE, false)?,
    }))
}

/// Reads the option if it is of who may come in, and says whether it is.
fn read_way_in<I: Iterator<Item = OsString>>(
    word: &std::ffi::OsStr,
    options: &mut Options<I>,
    way_in: &mut WayIn,
    (certificate, key): (&mut Option<PathBuf>, &mut Option<PathBuf>),
) -> Result<bool, ArgumentError> {
    let (name, into) = match word.to_str() {
        Some("--tls-cert") => ("--tls-cert", certificate),
        Some("--tls-key") => ("--tls-key", key),
        Some("--client-ca") => ("--client-ca", &mut way_in.authorities),
        Some("--rules") => ("--rules", &mut way_in.rules),
        Some("--identities") => ("--identities", &mut way_in.identities),
        Some(_) | None => return Ok(false),
    };
    options.path(name, into)?;
    Ok(true)
}

/// A certificate with its key.
fn pair(certificate: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<(PathBuf, PathBuf)>, ArgumentError> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (None, None) => Ok(None),
        (Some(_), None) | (None, Some(_)) => Err(ArgumentError::HalfCertificate),
    }
}

fn format(text: &str) -> Result<Format, ArgumentError> {
    match text {
        "text" => Ok(Format::Text),
        "json" => Ok(Format::Json),
        _ => Err(ArgumentError::LogFormat(text.to_string())),
    }
}

fn levels(text: &str) -> Result<Levels, ArgumentError> {
    text.parse().map_err(|_no_levels| ArgumentError::LogLevel(text.to_string()))
}

/// `name=value`, as PostgreSQL's `-c`: a dash in the name is an underscore.
fn setting(text: &str) -> Result<(String, String), ArgumentError> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.replace('-', "_"), value.to_string())),
        Some(_) | None => Err(ArgumentError::Setting(text.to_string())),
    }
}

/// A number within bounds.
fn number(text: &str, bounds: RangeInclusive<usize>) -> Option<usize> {
    text.parse().ok().filter(|number| bounds.contains(number))
}

/// A number of connections.
fn connections(text: &str) -> Result<usize, ArgumentError> {
    number(text, 1..=100_000).ok_or_else(|| ArgumentError::Connections(text.to_string()))
}

/// A number of threads.
fn workers(text: &str) -> Result<usize, ArgumentError> {
    number(text, 1..=64).ok_or_else(|| ArgumentError::Workers(text.to_string()))
}

/// A short time: a millisecond at most.
fn microseconds(text: &str) -> Result<Duration, ArgumentError> {
    let micros = number(text, 0..=1_000).map(|micros| Duration::from_micros(micros as u64));
    micros.ok_or_else(|| ArgumentError::Microseconds(text.to_string()))
}

/// A number of megabytes, in bytes: from one to a terabyte.
fn megabytes(text: &str) -> Result<usize, ArgumentError> {
    let bytes = number(text, 1..=1 << 20).map(|megabytes| megabytes << 20);
    bytes.ok_or_else(|| ArgumentError::Megabytes(text.to_string()))
}

/// The same, or none.
fn kept(text: &str) -> Result<u64, ArgumentError> {
    if text == "0" { Ok(0) } else { megabytes(text).map(|bytes| bytes as u64) }
}

fn address(text: &str) -> Result<SocketAddr, ArgumentError> {
    let wrong = || ArgumentError::Address(text.to_string());
    text.to_socket_addrs().map_err(|_| wrong())?.next().ok_or_else(wrong)
}

fn check<I: Iterator<Item = OsString>>(options: &mut Options<I>) -> Result<Command, ArgumentError> {
    let (mut data, mut repair, mut root_key) = (None, None, None);
    while let Some(word) = options.arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--data") => options.path("--data", &mut data)?,
            Some("--repair") => set("--repair", &mut repair, true)?,
            _ if Which::Present.read(&word, options, &mut root_key)? => {}
            _ => return Err(unknown(&word)),
        }
    }
    let data = data.ok_or(ArgumentError::MissingOption("--data"))?;
    let root_key = root_key.unwrap_or(RootKeySource::DataFolder);
    Ok(Command::Check { data, repair: repair.is_some(), root_key })
}

fn rotate<I: Iterator<Item = OsString>>(
    options: &mut Options<I>,
    rotation: Rotation,
) -> Result<Command, ArgumentError> {
    let (mut data, mut root, mut root_key, mut next) = (None, None, None, None);
    while let Some(word) = options.arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--data") => options.path("--data", &mut data)?,
            Some("--root") => set("--root", &mut root, true)?,
            _ if Which::Present.read(&word, options, &mut root_key)? => {}
            _ if Which::Next.read(&word, options, &mut next)? => {}
            _ => return Err(unknown(&word)),
        }
    }
    let root = match (root, next) {
        (Some(_), next) => Some(next),
        (None, None) => None,
        (None, Some(_)) => return Err(ArgumentError::NewWithoutRoot),
    };
    let data = data.ok_or(ArgumentError::MissingOption("--data"))?;
    Ok(Command::Rotate(Rotate { data, rotation, root_key: root_key.unwrap_or(RootKeySource::DataFolder), root }))
}

fn import<I: Iterator<Item = OsString>>(options: &mut Options<I>) -> Result<Command, ArgumentError> {
    let (mut data, mut file, mut database, mut as_text, mut keep_going) = (None, None, None, None, None);
    while let Some(word) = options.arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--data") => options.path("--data", &mut data)?,
            Some("--database") => {
                let value = options.value("--database")?;
                set("--database", &mut database, value.to_string_lossy().into_owned())?;
            }
            Some("--as-text") => set("--as-text", &mut as_text, true)?,
            Some("--keep-going") => set("--keep-going", &mut keep_going, true)?,
            Some(option) if option.starts_with('-') && option != "-" => return Err(unknown(&word)),
            _ => set("FILE", &mut file, word.into())?,
        }
    }
    Ok(Command::Import(Import {
        data: data.ok_or(ArgumentError::MissingOption("--data"))?,
        database,
        as_text: as_text.is_some(),
        keep_going: keep_going.is_some(),
        file: file.ok_or(ArgumentError::MissingOption("FILE"))?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, ArgumentError> {
        parse(line.split_whitespace().map(OsString::from))
    }

    fn checking(repair: bool) -> Command {
        Command::Check { data: "d".into(), repair, root_key: RootKeySource::DataFolder }
    }

    #[test]
    fn root_keys_are_read() {
        let Ok(Command::Rotate(rotate)) = read("rotate --data d --root --passphrase-env A --new-root-key-file f")
        else {
            panic!("not read")
        };
        assert_eq!(
            (rotate.rotation, rotate.root_key),
            (Rotation::Rotate, RootKeySource::PassphraseEnvironment("A".into()))
        );
        assert_eq!(rotate.root, Some(Some(RootKeySource::File("f".into()))));
        let Ok(Command::Rotate(shred)) = read("shred --data d") else { panic!("not read") };
        assert_eq!((shred.rotation, shred.root_key, shred.root), (Rotation::Shred, RootKeySource::DataFolder, None));
        let Ok(Command::Serve(serve)) = read("serve --data d --root-key-env K") else { panic!("not read") };
        assert_eq!(serve.root_key, RootKeySource::Environment("K".into()));
    }

    #[test]
    fn commands_are_read() {
        assert_eq!(read("--help"), Ok(Command::Help));
        assert_eq!(read("serve --help"), Ok(Command::Help));
        assert_eq!(read("check --data d"), Ok(checking(false)));
        assert_eq!(read("check --repair --data d"), Ok(checking(true)));
        let Ok(Command::Serve(serve)) = read("serve --data d --salvage --keep-free-mb 0") else { panic!("not read") };
        assert_eq!((serve.salvage, serve.keep_free_bytes), (true, Some(0)));
        assert_eq!(
            read("verify --key public.key receipt"),
            Ok(Command::Verify(Verify { keys: vec!["public.key".into()], file: "receipt".into(), heads: Vec::new() }))
        );
        let Ok(Command::Serve(serve)) = read("serve --data d --listen 127.0.0.1:0 --insecure") else {
            panic!("not read")
        };
        assert_eq!(serve.listen, SocketAddr::from(([127, 0, 0, 1], 0)));
        let Ok(Command::Serve(logs)) =
            read("serve --data d --log-format json --log-level info,views=debug -c a=1 -c b-c=d=e")
        else {
            panic!("not read")
        };
        assert_eq!((logs.log_format, Ok(logs.log_levels)), (Format::Json, "info,views=debug".parse()));
        assert_eq!(logs.settings, [("a", "1"), ("b_c", "d=e")].map(|(name, value)| (name.into(), value.into())));
        assert!(serve.insecure && serve.way_in == WayIn::default() && serve.awake == AWAKE);
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (line, complaint) in [
            ("", "no command given"),
            ("sreve", "unknown command \"sreve\""),
            ("serve", "--data is needed"),
            ("serve --data", "--data needs a value"),
            ("serve --data a --data b", "--data is given twice"),
            ("serve --data a --listen here", "\"here\" is not an address and port"),
            ("serve --data a --trust", "unknown option \"--trust\""),
            ("serve --data a --block-cache-mb 0", "\"0\" is not a number of megabytes from 1 to 1048576"),
            ("serve --data a --connections x", "\"x\" is not a number of connections from 1 to 100000"),
            ("serve --data a --awake-us 2000", "\"2000\" is not a number of microseconds from 0 to 1000"),
            ("serve --data a --view-workers 0", "\"0\" is not a number of threads from 1 to 64"),
            ("serve --data a --log-format xml", "\"xml\" is not a format of the log: text or json"),
            (
                "serve --data a --log-level loud",
                "\"loud\" is not a level of the log (off, error, warning, info, debug), with others for targets behind it",
            ),
            ("serve --data a -c log_connections", "\"log_connections\" is not the name of a setting and its value"),
            ("serve --data a --tls-cert c", "--tls-cert and --tls-key go together"),
            (
                "serve --data a --known-names",
                "--known-names goes together with --insecure: else no other name comes in",
            ),
            (
                "serve --data a --insecure --rules r",
                "with --insecure everybody may come in: --rules, --identities and --client-ca say otherwise",
            ),
            ("verify receipt", "--key is needed"),
            ("verify --key k", "FILE is needed"),
            ("verify --key k a b", "FILE is given twice"),
            ("merge-capsules --key k", "FILE is needed"),
            ("merge-capsules --key k f", "CAPSULE is needed"),
            ("merge-capsules f a b", "--key is needed"),
            ("serve --data d --refer-to h", "--refer-key is needed"),
            ("serve --data d --refer-key k", "--refer-to is needed"),
            ("prove --data d f", "--entry or --record is needed"),
            ("prove --data d --entry 1 --record 2 f", "--record is given twice"),
            ("prove --data d --entry x f", "\"x\" is not the number of a record"),
            ("serve --data d --publish-every 5", "--publish-head is needed"),
            ("serve --data d --publish-head h --publish-every 0", "\"0\" is not a number of seconds from 1 to 86400"),
            ("rotate --data a --new-passphrase-env P", "a new root key goes together with --root"),
            ("serve --data a --passphrase-env P --root-key-env K", "--root-key-env is given twice"),
            ("backup --data d --to t", "--keys-to is needed"),
            ("backup --data d --keys-to k", "--to is needed"),
            ("backup --data d --to t --keys-to k --keep-keys x", "\"x\" is not a number of days from 0 to 36500"),
            ("serve --data d --ship-to t", "--ship-keys-to is needed"),
            ("serve --data d --keep-keys 1", "--ship-to is needed"),
            ("verify-backup --from t", "--key is needed"),
            ("restore --from t --keys k", "--data is needed"),
            ("restore --to now-ish", "\"now-ish\" is neither a time nor commit:NUMBER nor record:NUMBER"),
            ("restore --to commit:x", "\"commit:x\" is neither a time nor commit:NUMBER nor record:NUMBER"),
            ("lint", "FILE is needed"),
            ("lint --html f", "unknown option \"--html\""),
            ("report --data d f", "--html, --csv or --jsonld is needed"),
            ("report --data d --html --csv f", "the report's form is given twice"),
            ("report --data d --pdf f", "unknown option \"--pdf\""),
            ("report --data d --html", "FILE is needed"),
            ("check --insecure", "unknown option \"--insecure\""),
        ] {
            assert_eq!(read(line).expect_err("refused").to_string(), complaint);
        }
    }
}
