//! What is asked of who wants to come in: the server's certificate, the authorities of clients' certificates, the rules, and what
//! roles the names in certificates are. Read at start, and whenever the operator says so.
//!
//! ```text
//! handshake ─▶ a certificate was shown? ─▶ the first rule that fits ─▶ password │ certificate │ refused
//!                does not hold: refused      none does: refused
//! ```
//! All of it is read before any of it holds: where a part is not understood, what held before holds on.

use crate::client_certificate::{Authorities, AuthoritiesError, Refusal, ShownCertificate};
use crate::identities::Identities;
use crate::rules::{Asked, BadLine, CertificateCheck, FILE_BYTES_MAX, LoginRule, Method, Rules};
use crate::tls::{self, Tls, TlsError};
use engine::SqlError;
use engine::protocol::{ListedIdentity, ListedRule, ShownRule};
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The rules' file in the data folder.
const RULES: &str = "pg_hba.conf";
/// The file of maps there.
const IDENTITIES: &str = "pg_ident.conf";

/// Files that an operator names, instead of those of the data folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WayIn {
    /// The rules.
    pub rules: Option<PathBuf>,
    /// What roles the names in certificates are.
    pub identities: Option<PathBuf>,
    /// The authorities whose clients' certificates hold.
    pub authorities: Option<PathBuf>,
    /// The server's own certificate and key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// See the module.
pub struct Admission {
    /// How connections are encrypted.
    pub(crate) tls: Tls,
    authorities: Option<Authorities>,
    rules: Rules,
    identities: Identities,
    has_file: bool,
}

/// Why it cannot be had.
#[derive(Debug)]
pub enum AdmissionError {
    /// The server's certificate.
    Tls(TlsError),
    /// The authorities.
    Authorities(AuthoritiesError),
    /// A file could not be read.
    File(PathBuf, io::Error),
    /// The rules' file was there, and is not any more.
    Gone(PathBuf),
    /// Lines of a file are not understood: the first, and how many there are.
    Lines(PathBuf, String, usize),
}

/// What a login still has to show.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Required {
    /// A password.
    Password,
    /// Nothing: its certificate says who it is.
    Nothing,
}

/// Why a login is refused: for the log, and for the client.
pub(crate) struct Denied {
    /// In a few words.
    pub(crate) why: String,
    /// What the client is told.
    pub(crate) error: Box<SqlError>,
}

impl Denied {
    /// With its reasons.
    pub(crate) fn new(why: impl Into<String>, error: SqlError) -> Denied {
        Denied { why: why.into(), error: Box::new(error) }
    }
}

impl WayIn {
    fn rules_file(&self, data: &Path) -> PathBuf {
        self.rules.clone().unwrap_or_else(|| data.join(RULES))
    }

    fn identities_file(&self, data: &Path) -> PathBuf {
        self.identities.clone().unwrap_or_else(|| data.join(IDENTITIES))
    }

    /// The text of a file; none if it is one of the data folder's that is not there.
    fn text(path: &Path, is_named: bool) -> Result<Option<String>, AdmissionError> {
        let read = || {
            let mut text = String::new();
            fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
            if text.len() as u64 > FILE_BYTES_MAX {
                return Err(io::Error::other("it is larger than a megabyte"));
            }
            Ok(text)
        };
        match read() {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_named => Ok(None),
            Err(error) => Err(AdmissionError::File(path.to_path_buf(), error)),
        }
    }

    /// The rules, for `pg_hba_file_rules`: of the file as it stands now.
    pub(crate) fn listed_rules(&self, data: &Path) -> Result<Vec<ListedRule>, SqlError> {
        let Some(text) = WayIn::text(&self.rules_file(data), self.rules.is_some()).map_err(unreadable)? else {
            return Ok(Rules::built_in().all().iter().map(listed).collect());
        };
        let read = Rules::each(&text).into_iter().map(|read| match read {
            Ok(rule) => listed(&rule),
            Err(BadLine { line, why }) => ListedRule { line: Some(number(line)), rule: Err(why) },
        });
        Ok(read.collect())
    }

    /// The maps, for `pg_ident_file_mappings`.
    pub(crate) fn listed_identities(&self, data: &Path) -> Result<Vec<ListedIdentity>, SqlError> {
        let text = WayIn::text(&self.identities_file(data), self.identities.is_some()).map_err(unreadable)?;
        let read = Identities::each(&text.unwrap_or_default()).into_iter().map(|read| match read {
            Ok(mapping) => {
                let line = number(mapping.line);
                ListedIdentity { line, mapping: Ok([mapping.map, mapping.name, mapping.role]) }
            }
            Err(BadLine { line, why }) => ListedIdentity { line: number(line), mapping: Err(why) },
        });
        Ok(read.collect())
    }
}

fn number(line: usize) -> i32 {
    i32::try_from(line).unwrap_or(i32::MAX)
}

fn unreadable(error: AdmissionError) -> SqlError {
    SqlError::new("58030", error.to_string())
}

fn listed(rule: &LoginRule) -> ListedRule {
    let ([databases, roles], (address, netmask)) = (rule.names(), rule.address());
    let (kind, method, options) = (rule.kind(), rule.method.name(), rule.options.written());
    let shown = ShownRule { kind, databases, roles, address, netmask, method, options };
    ListedRule { line: rule.line.map(number), rule: Ok(shown) }
}

impl Admission {
    /// Reads everything. `before` is what held until now, if anything did.
    pub(crate) fn load(data: &Path, files: &WayIn, before: Option<&Admission>) -> Result<Admission, AdmissionError> {
        let authorities = files.authorities.as_deref().map(Authorities::load).transpose();
        let authorities = authorities.map_err(AdmissionError::Authorities)?;
        let own = files.certificate.as_ref().map(|(certificate, key)| (certificate.as_path(), key.as_path()));
        let tls = tls::load(data, own, authorities.as_ref()).map_err(AdmissionError::Tls)?;
        let path = files.rules_file(data);
        let text = WayIn::text(&path, files.rules.is_some())?;
        if text.is_none() && before.is_some_and(|before| before.has_file) {
            // To be without rules is to let everybody try.
            return Err(AdmissionError::Gone(path));
        }
        let has_file = text.is_some();
        let rules = text.map_or_else(|| Ok(Rules::built_in()), |text| Rules::parse(&text));
        let rules = rules.map_err(|bad| AdmissionError::lines(&path, &bad))?;
        let unchecked = rules.all().iter().find(|rule| rule.asks_for_certificate() && authorities.is_none());
        if let Some(rule) = unchecked {
            let why = "client certificates can only be checked with --client-ca";
            return Err(AdmissionError::lines(&path, &[BadLine::new(rule.line.unwrap_or(0), why)]));
        }
        let identities_path = files.identities_file(data);
        let text = WayIn::text(&identities_path, files.identities.is_some())?.unwrap_or_default();
        let identities = Identities::parse(&text).map_err(|bad| AdmissionError::lines(&identities_path, &bad))?;
        let read = Admission { tls, authorities, rules, identities, has_file };
        read.warn(&path);
        Ok(read)
    }

    /// What an operator may not have meant.
    fn warn(&self, path: &Path) {
        let file = path.display();
        for rule in self.rules.all() {
            let line = rule.line.unwrap_or(0);
            if let Some(why) = rule.never() {
                tracing::warn!(target: "dogwood::logins", line, %file, "no login can fit this rule: {why}");
            }
            if let Some(map) = rule.options.map.as_deref().filter(|map| !self.identities.has(map)) {
                tracing::warn!(target: "dogwood::logins", line, %file, map, "there is no such map of names in certificates");
            }
        }
    }

    /// How many rules there are.
    pub(crate) fn rules(&self) -> usize {
        self.rules.all().len()
    }

    /// What a client's certificates say.
    pub(crate) fn judge(&self, shown: Option<&[rustls_pki_types::CertificateDer<'_>]>) -> ShownCertificate {
        match (&self.authorities, shown) {
            (Some(authorities), shown) => authorities.judge(shown),
            (None, None) => ShownCertificate::Nothing,
            (None, Some(_)) => ShownCertificate::Refused(Refusal::Unasked),
        }
    }

    /// What a login has still to show, and the method of its rule.
    pub(crate) fn decide(&self, asked: &Asked<'_>, shown: &ShownCertificate) -> Result<(Required, &LoginRule), Denied> {
        if let ShownCertificate::Refused(refusal) = shown {
            let error = no_certificate().detail(refusal.sentence());
            return Err(Denied::new(refusal.sentence().trim_end_matches('.'), error));
        }
        let encryption = if asked.encrypted { "SSL encryption" } else { "no encryption" };
        let (from, role, database) = (asked.from.to_canonical(), asked.role, asked.database);
        let login = format!("host \"{from}\", user \"{role}\", database \"{database}\", {encryption}");
        let Some(rule) = self.rules.find(asked) else {
            let error = SqlError::new("28000", format!("no pg_hba.conf entry for {login}"));
            return Err(Denied::new("no rule fits", error));
        };
        let line = rule.line.map_or_else(String::new, |line| format!(" (line {line} of the rules)"));
        if rule.method == Method::Reject {
            let error = SqlError::new("28000", format!("pg_hba.conf rejects connection for {login}"));
            return Err(Denied::new(format!("rejected by rule{line}"), error));
        }
        match (rule.options.certificate, shown) {
            (None, _) | (Some(CertificateCheck::Authority), ShownCertificate::Holds(_)) => {}
            (Some(_), ShownCertificate::Nothing | ShownCertificate::Refused(_)) => {
                return Err(Denied::new(format!("no client certificate{line}"), no_certificate()));
            }
            (Some(CertificateCheck::Full), ShownCertificate::Holds(name)) => {
                let allows = |name: &String| self.identities.allow(rule.options.map.as_deref(), name, role);
                if !name.as_ref().is_some_and(allows) {
                    let message = format!("certificate authentication failed for user \"{role}\"");
                    let error = SqlError::new("28000", message);
                    return Err(Denied::new(format!("a client certificate of another name{line}"), error));
                }
            }
        }
        let by_certificate = rule.method == Method::Certificate;
        Ok((if by_certificate { Required::Nothing } else { Required::Password }, rule))
    }
}

fn no_certificate() -> SqlError {
    SqlError::new("28000", "connection requires a valid client certificate")
}

impl AdmissionError {
    fn lines(path: &Path, bad: &[BadLine]) -> AdmissionError {
        let first = bad.first().map_or_else(String::new, ToString::to_string);
        AdmissionError::Lines(path.to_path_buf(), first, bad.len())
    }
}

impl fmt::Display for AdmissionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdmissionError::Tls(error) => write!(f, "{error}"),
            AdmissionError::Authorities(error) => write!(f, "{error}"),
            AdmissionError::File(path, error) => write!(f, "could not read \"{}\": {error}", path.display()),
            AdmissionError::Gone(path) => write!(f, "\"{}\" is not there any more", path.display()),
            AdmissionError::Lines(path, first, 1) => write!(f, "\"{}\", {first}", path.display()),
            AdmissionError::Lines(path, first, count) => {
                write!(f, "\"{}\", {first} (and {} more lines)", path.display(), count - 1)
            }
        }
    }
}

impl std::error::Error for AdmissionError {}
