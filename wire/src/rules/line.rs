//! One line as a rule, with PostgreSQL's words for what is wrong with it.

use super::address::Addresses;
use super::tokens::{BadLine, Word};
use super::{CertificateCheck, Kind, LoginRule, Method, RuleOptions};
use std::net::IpAddr;

/// Methods that PostgreSQL knows, and this server does not.
const OTHERS: [&str; 10] = ["trust", "md5", "password", "gss", "sspi", "ident", "peer", "pam", "ldap", "radius"];

/// Reads it.
pub(super) fn read(number: usize, fields: &[Vec<Word>]) -> Result<LoginRule, BadLine> {
    let mut fields = fields.iter();
    rule(number, &mut fields).map_err(|why| BadLine::new(number, why))
}

fn rule<'a>(number: usize, fields: &mut impl Iterator<Item = &'a Vec<Word>>) -> Result<LoginRule, String> {
    let kind = kind(single(fields.next(), "connection type")?)?;
    let databases = names(fields.next(), "database")?;
    let roles = names(fields.next(), "role")?;
    let addresses = match kind {
        Kind::Local => None,
        Kind::Host | Kind::Encrypted | Kind::Plain | Kind::Gss | Kind::NoGss => Some(addresses(fields)?),
    };
    let method = method(single(fields.next(), "authentication method")?, kind)?;
    let mut options = RuleOptions::default();
    for option in fields.flatten() {
        set(&mut options, option, method, kind)?;
    }
    if method == Method::Certificate {
        // What `cert` looks at is the whole.
        options.certificate = Some(CertificateCheck::Full);
    }
    Ok(LoginRule { line: Some(number), kind, databases, roles, addresses, method, options })
}

fn single<'a>(field: Option<&'a Vec<Word>>, what: &str) -> Result<&'a str, String> {
    match field.map(Vec::as_slice) {
        Some([token]) => Ok(&token.text),
        Some(_) => Err(format!("multiple values specified for {what}")),
        None => Err(format!("end-of-line before {what}")),
    }
}

fn names(field: Option<&Vec<Word>>, what: &str) -> Result<Vec<Word>, String> {
    let names = field.ok_or_else(|| format!("end-of-line before {what} specification"))?;
    match names.iter().find(|name| !name.is_quoted && name.text.starts_with('/')) {
        Some(name) => Err(format!("regular expressions are not supported: \"{}\"", name.text)),
        None => Ok(names.clone()),
    }
}

fn kind(word: &str) -> Result<Kind, String> {
    match word {
        "local" => Ok(Kind::Local),
        "host" => Ok(Kind::Host),
        "hostssl" => Ok(Kind::Encrypted),
        "hostnossl" => Ok(Kind::Plain),
        "hostgssenc" => Ok(Kind::Gss),
        "hostnogssenc" => Ok(Kind::NoGss),
        other => Err(format!("invalid connection type \"{other}\"")),
    }
}

fn addresses<'a>(fields: &mut impl Iterator<Item = &'a Vec<Word>>) -> Result<Addresses, String> {
    let field = fields.next();
    let word = match single(field, "host address") {
        Err(_) if field.is_none() => return Err("end-of-line before IP address specification".to_string()),
        word => word?,
    };
    let is_quoted = field.is_some_and(|tokens| tokens[0].is_quoted);
    match word {
        "all" if !is_quoted => return Ok(Addresses::All),
        "samehost" if !is_quoted => return Ok(Addresses::Server),
        "samenet" if !is_quoted => return Err("\"samenet\" is not supported; name the network".to_string()),
        _ => {}
    }
    let (address, bits) = word.split_once('/').map_or((word, None), |(address, bits)| (address, Some(bits)));
    let Ok(address) = address.parse::<IpAddr>() else {
        return Err(match address.contains(|c: char| c.is_ascii_alphabetic() && !c.is_ascii_hexdigit() || c == '_') {
            true => format!("host names are not supported: \"{word}\"; name the address"),
            false => format!("invalid IP address \"{word}\""),
        });
    };
    if let Some(bits) = bits {
        let network = bits.parse().ok().and_then(|bits| Addresses::network(address, bits));
        return network.ok_or_else(|| format!("invalid CIDR mask in address \"{word}\""));
    }
    let mask = fields.next().ok_or("end-of-line before netmask specification")?;
    let mask = single(Some(mask), "netmask")?;
    let mask: IpAddr = mask.parse().map_err(|_no_address| format!("invalid IP mask \"{mask}\""))?;
    if mask.is_ipv4() != address.is_ipv4() {
        return Err("IP address and mask do not match".to_string());
    }
    Ok(Addresses::Network { address, mask })
}

fn method(word: &str, kind: Kind) -> Result<Method, String> {
    match word {
        "scram-sha-256" => Ok(Method::Scram),
        "cert" if kind == Kind::Encrypted => Ok(Method::Certificate),
        "cert" => Err("cert authentication is only supported on hostssl connections".to_string()),
        "reject" => Ok(Method::Reject),
        other if OTHERS.contains(&other) => Err(format!(
            "invalid authentication method \"{other}\": not supported; there are scram-sha-256, cert and reject"
        )),
        other => Err(format!("invalid authentication method \"{other}\"")),
    }
}

fn set(options: &mut RuleOptions, token: &Word, method: Method, kind: Kind) -> Result<(), String> {
    let text = &token.text;
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("authentication option not in name=value format: {text}"))?;
    let certificate = match (name, value) {
        ("map", _) if method == Method::Certificate => {
            options.map = Some(value.to_string());
            return Ok(());
        }
        ("map", _) => {
            return Err("authentication option \"map\" is only valid for authentication method cert".to_string());
        }
        ("clientcert" | "clientname", _) if kind != Kind::Encrypted => {
            return Err(format!("{name} can only be configured for \"hostssl\" rows"));
        }
        ("clientcert", "verify-full") => CertificateCheck::Full,
        ("clientcert", "verify-ca") if method == Method::Certificate => {
            return Err("clientcert only accepts \"verify-full\" when using \"cert\" authentication".to_string());
        }
        ("clientcert", "verify-ca") => CertificateCheck::Authority,
        ("clientcert", _) => return Err(format!("invalid value for clientcert: \"{value}\"")),
        ("clientname", "CN") => return Ok(()),
        ("clientname", _) => return Err(format!("invalid value for clientname: \"{value}\"; there is CN")),
        (_, _) => return Err(format!("unrecognized authentication option name: \"{name}\"")),
    };
    if method == Method::Reject {
        return Err("authentication option \"clientcert\" says nothing behind reject".to_string());
    }
    options.certificate = Some(certificate);
    Ok(())
}
