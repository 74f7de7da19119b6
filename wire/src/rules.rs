//! Who may come in from where, and how they show who they are: the lines of a file in `pg_hba.conf`'s form.
//!
//! ```text
//! # kind     database   role          address          method           options
//! hostssl    all        all           10.0.0.0/8       scram-sha-256
//! hostssl    shop       +clerks       0.0.0.0/0        cert             map=staff
//! host       all        all           all              reject
//! ```
//!
//! The first line that fits a login decides; one that no line fits is refused. Nothing here knows a password or looks at a
//! certificate: a rule says what is to be asked.

mod address;
mod line;
mod tokens;

pub(crate) use tokens::{BadLine, FILE_BYTES_MAX, Word, lines};

use address::Addresses;
use std::net::IpAddr;

/// The rules of a file, in its order.
#[derive(Debug)]
pub(crate) struct Rules {
    rules: Vec<LoginRule>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoginRule {
    /// Where it stands; none for the one that holds where there is no file.
    pub(crate) line: Option<usize>,
    kind: Kind,
    databases: Vec<Word>,
    roles: Vec<Word>,
    addresses: Option<Addresses>,
    /// What is asked.
    pub(crate) method: Method,
    /// How.
    pub(crate) options: RuleOptions,
}

/// What connections a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Of a Unix socket, which this server has none of.
    Local,
    /// Over TCP.
    Host,
    /// With TLS.
    Encrypted,
    /// Without.
    Plain,
    /// With GSSAPI's encryption, which this server does not speak.
    Gss,
    /// Without that.
    NoGss,
}

/// How one shows who one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// By a password.
    Scram,
    /// By a certificate.
    Certificate,
    /// Nohow.
    Reject,
}

/// What of a certificate is looked at beside a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificateCheck {
    /// That there is one, of the authority.
    Authority,
    /// And that it is the role's.
    Full,
}

/// What stands behind the method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleOptions {
    /// The map by which a certificate's name becomes a role.
    pub(crate) map: Option<String>,
    /// Whether a certificate is asked for, too.
    pub(crate) certificate: Option<CertificateCheck>,
}

/// A login, as rules see it.
pub(crate) struct Asked<'a> {
    /// The client's address.
    pub(crate) from: IpAddr,
    /// The address that it has come to.
    pub(crate) to: IpAddr,
    /// Whether the connection is encrypted.
    pub(crate) encrypted: bool,
    /// The role.
    pub(crate) role: &'a str,
    /// The database.
    pub(crate) database: &'a str,
    /// Whether the role is a member of another.
    pub(crate) is_member: &'a dyn Fn(&str) -> bool,
}

impl Rules {
    /// What holds where there is no file: everybody by password, over TLS.
    pub(crate) fn built_in() -> Rules {
        let all = || vec![Word { text: "all".into(), is_quoted: false }];
        let rule = LoginRule {
            line: None,
            kind: Kind::Encrypted,
            databases: all(),
            roles: all(),
            addresses: Some(Addresses::All),
            method: Method::Scram,
            options: RuleOptions::default(),
        };
        Rules { rules: vec![rule] }
    }

    /// Reads a file's text: the rules, or each line that is not understood.
    pub(crate) fn parse(text: &str) -> Result<Rules, Vec<BadLine>> {
        let (mut rules, mut bad) = (Vec::new(), Vec::new());
        for read in Rules::each(text) {
            match read {
                Ok(rule) => rules.push(rule),
                Err(line) => bad.push(line),
            }
        }
        match bad.is_empty() {
            true => Ok(Rules { rules }),
            false => Err(bad),
        }
    }

    /// Each line that says something, as a rule or as why it is none.
    pub(crate) fn each(text: &str) -> Vec<Result<LoginRule, BadLine>> {
        lines(text).into_iter().map(|read| read.and_then(|(number, fields)| line::read(number, &fields))).collect()
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[LoginRule] {
        &self.rules
    }

    /// The first that fits.
    pub(crate) fn find(&self, asked: &Asked<'_>) -> Option<&LoginRule> {
        self.rules.iter().find(|rule| rule.fits(asked))
    }
}

impl LoginRule {
    fn fits(&self, asked: &Asked<'_>) -> bool {
        let by_kind = match self.kind {
            Kind::Local | Kind::Gss => false,
            Kind::Host | Kind::NoGss => true,
            Kind::Encrypted => asked.encrypted,
            Kind::Plain => !asked.encrypted,
        };
        by_kind
            && self.addresses.as_ref().is_some_and(|addresses| addresses.contain(asked.from, asked.to))
            && self.databases.iter().any(|token| asked.is_of_database(token))
            && self.roles.iter().any(|token| asked.is_of_role(token))
    }

    /// Why no login can fit it, if so.
    pub(crate) fn never(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Local => Some("this server has no Unix socket"),
            Kind::Gss => Some("this server does not speak GSSAPI"),
            Kind::Plain => Some("this server takes no logins without TLS"),
            Kind::Host | Kind::Encrypted | Kind::NoGss => None,
        }
    }

    /// Whether it looks at certificates.
    pub(crate) fn asks_for_certificate(&self) -> bool {
        self.method == Method::Certificate || self.options.certificate.is_some()
    }

    /// What connections it is for, as it is written.
    pub(crate) fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Local => "local",
            Kind::Host => "host",
            Kind::Encrypted => "hostssl",
            Kind::Plain => "hostnossl",
            Kind::Gss => "hostgssenc",
            Kind::NoGss => "hostnogssenc",
        }
    }

    /// Its databases and its roles, as they are written.
    pub(crate) fn names(&self) -> [Vec<String>; 2] {
        [&self.databases, &self.roles].map(|tokens| tokens.iter().map(|token| token.text.clone()).collect())
    }

    /// Its address and netmask, as PostgreSQL shows them.
    pub(crate) fn address(&self) -> (Option<String>, Option<String>) {
        self.addresses.as_ref().map_or((None, None), Addresses::shown)
    }
}

impl Method {
    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Scram => "scram-sha-256",
            Method::Certificate => "cert",
            Method::Reject => "reject",
        }
    }
}

impl RuleOptions {
    /// As they are written.
    pub(crate) fn written(&self) -> Vec<String> {
        let map = self.map.iter().map(|map| format!("map={map}"));
        let certificate = self.certificate.iter().map(|check| {
            let value = match check {
                CertificateCheck::Authority => "verify-ca",
                CertificateCheck::Full => "verify-full",
            };
            format!("clientcert={value}")
        });
        map.chain(certificate).collect()
    }
}

impl Asked<'_> {
    fn is_of_database(&self, token: &Word) -> bool {
        match (token.is_quoted, &*token.text) {
            (false, "all") => true,
            (false, "sameuser") => self.database == self.role,
            (false, "samerole" | "samegroup") => (self.is_member)(self.database),
            // Connections of the replication protocol, which come to no database: there are none.
            (false, "replication") => false,
            (_, name) => name == self.database,
        }
    }

    fn is_of_role(&self, token: &Word) -> bool {
        match (token.is_quoted, &*token.text) {
            (false, "all") => true,
            (false, name) if name.starts_with('+') => (self.is_member)(&name[1..]),
            (_, name) => name == self.role,
        }
    }
}

#[cfg(test)]
mod tests;
