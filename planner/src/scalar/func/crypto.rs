//! What pgcrypto and uuid-ossp have: digests by name, keyed ones, and UUIDs of each kind.

use super::arguments::{bytea, integer, text};
use super::{FunctionDefinition, strict};
use crate::scalar::{Answer, EvalContext};
use hmac::{Hmac, Mac};
use md5::Md5;
use repr::{Datum, ValueError, poll};
use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha224, Sha256, Sha384, Sha512};

/// The bytes of a text or of a bytea.
fn content(arg: &Datum) -> Result<&[u8], ValueError> {
    match arg {
        Datum::Text(text) => Ok(text.as_bytes()),
        other => bytea(other),
    }
}

/// A piece at a time: a large value takes a while.
fn by_pieces(value: &[u8], mut take: impl FnMut(&[u8])) -> Result<(), ValueError> {
    for piece in value.chunks(64 << 10) {
        poll::bytes(piece.len())?;
        take(piece);
    }
    Ok(())
}

fn hashed<D: Digest>(value: &[u8]) -> Result<Vec<u8>, ValueError> {
    let mut digest = D::new();
    by_pieces(value, |piece| digest.update(piece))?;
    Ok(digest.finalize().to_vec())
}

fn keyed<M: Mac + hmac::digest::KeyInit>(value: &[u8], key: &[u8]) -> Result<Vec<u8>, ValueError> {
    let mut code = <M as Mac>::new_from_slice(key).map_err(|_| ValueError::new("22023", "Key was too big"))?;
    by_pieces(value, |piece| code.update(piece))?;
    Ok(code.finalize().into_bytes().to_vec())
}

fn no_algorithm(name: &str) -> ValueError {
    ValueError::new("22023", format!("Cannot use \"{name}\": No such hash algorithm"))
}

/// `digest(data, type)`
fn digest(args: &[Datum]) -> Answer {
    let (value, name) = (content(&args[0])?, text(&args[1])?);
    let digest = match name.to_ascii_lowercase().as_str() {
        "md5" => hashed::<Md5>(value)?,
        "sha1" => hashed::<Sha1>(value)?,
        "sha224" => hashed::<Sha224>(value)?,
        "sha256" => hashed::<Sha256>(value)?,
        "sha384" => hashed::<Sha384>(value)?,
        "sha512" => hashed::<Sha512>(value)?,
        _ => return Err(no_algorithm(name)),
    };
    Ok(Datum::Bytea(digest.into()))
}

/// `hmac(data, key, type)`
fn hmac(args: &[Datum]) -> Answer {
    let (value, key, name) = (content(&args[0])?, content(&args[1])?, text(&args[2])?);
    let code = match name.to_ascii_lowercase().as_str() {
        "md5" => keyed::<Hmac<Md5>>(value, key)?,
        "sha1" => keyed::<Hmac<Sha1>>(value, key)?,
        "sha224" => keyed::<Hmac<Sha224>>(value, key)?,
        "sha256" => keyed::<Hmac<Sha256>>(value, key)?,
        "sha384" => keyed::<Hmac<Sha384>>(value, key)?,
        "sha512" => keyed::<Hmac<Sha512>>(value, key)?,
        _ => return Err(no_algorithm(name)),
    };
    Ok(Datum::Bytea(code.into()))
}

fn random_bytes(ctx: &EvalContext, count: i64) -> Answer {
    let count = usize::try_from(count).ok().filter(|count| (1..=1024).contains(count));
    let count = count.ok_or_else(|| ValueError::new("39000", "Length not in range"))?;
    let mut bytes = vec![0; count];
    ctx.environment.random_bytes(&mut bytes);
    Ok(Datum::Bytea(bytes.into()))
}

/// A UUID's version, and RFC 4122's variant.
fn marked(mut bytes: [u8; 16], version: u8) -> Datum {
    bytes[6] = (bytes[6] & 0x0f) | (version << 4);
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    Datum::Uuid(bytes)
}

/// From a name within a namespace.
fn named<D: Digest>(args: &[Datum], version: u8) -> Answer {
    let Datum::Uuid(space) = args[0] else { return Err(ValueError::new("22P02", "invalid namespace")) };
    let mut digest = D::new();
    digest.update(space);
    by_pieces(text(&args[1])?.as_bytes(), |piece| digest.update(piece))?;
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.finalize()[..16]);
    Ok(marked(bytes, version))
}

/// From the clock and a random node: no network card is asked for its address.
fn of_time(ctx: &EvalContext) -> Datum {
    /// From 1582-10-15, where these clocks begin, to 2000-01-01, in seconds.
    const GREGORIAN: i64 = 13_165_977_600;
    let ticks = (ctx.environment.clock_timestamp() + GREGORIAN * 1_000_000) as u64 * 10;
    let mut bytes = [0; 16];
    ctx.environment.random_bytes(&mut bytes);
    bytes[..4].copy_from_slice(&(ticks as u32).to_be_bytes());
    bytes[4..6].copy_from_slice(&((ticks >> 32) as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&((ticks >> 48) as u16).to_be_bytes());
    // The bit by which such a node is no card's address.
    bytes[10] |= 0x01;
    marked(bytes, 1)
}

fn random(ctx: &EvalContext) -> Datum {
    let mut bytes = [0; 16];
    ctx.environment.random_bytes(&mut bytes);
    marked(bytes, 4)
}

/// RFC 4122's namespaces differ in the fourth byte.
fn namespace(last: u8) -> Answer {
    let mut bytes = [0x6b, 0xa7, 0xb8, 0, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0, 0xc0, 0x4f, 0xd4, 0x30, 0xc8];
    bytes[3] = last;
    Ok(Datum::Uuid(bytes))
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("digest(text, text) bytea", |_, a, _| digest(a)),
    strict("digest(bytea, text) bytea", |_, a, _| digest(a)),
    strict("hmac(text, text, text) bytea", |_, a, _| hmac(a)),
    strict("hmac(bytea, bytea, text) bytea", |_, a, _| hmac(a)),
    strict("gen_random_bytes(int4) bytea", |ctx, a, _| random_bytes(ctx, integer(&a[0])?)).volatile(),
    strict("uuid_nil() uuid", |_, _, _| Ok(Datum::Uuid([0; 16]))),
    strict("uuid_ns_dns() uuid", |_, _, _| namespace(0x10)),
    strict("uuid_ns_url() uuid", |_, _, _| namespace(0x11)),
    strict("uuid_ns_oid() uuid", |_, _, _| namespace(0x12)),
    strict("uuid_ns_x500() uuid", |_, _, _| namespace(0x14)),
    strict("uuid_generate_v1() uuid", |ctx, _, _| Ok(of_time(ctx))).volatile(),
    strict("uuid_generate_v1mc() uuid", |ctx, _, _| Ok(of_time(ctx))).volatile(),
    strict("uuid_generate_v3(uuid, text) uuid", |_, a, _| named::<Md5>(a, 3)),
    strict("uuid_generate_v4() uuid", |ctx, _, _| Ok(random(ctx))).volatile(),
    strict("uuid_generate_v5(uuid, text) uuid", |_, a, _| named::<Sha1>(a, 5)),
];
