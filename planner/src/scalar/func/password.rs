//! pgcrypto's `crypt` and `gen_salt`: passwords, hashed slowly, with the salt in front.
//!
//! ```text
//! $2a$06$ 22 letters of salt  31 letters of hash      bcrypt; 06: 2^6 rounds
//! $1$ 8 letters of salt $ 22 letters of hash          MD5, a thousand times
//! ```
//! DES, which PostgreSQL has beside these, is refused: it looks at eight letters of a password.

use super::arguments::{int4, string, text};
use super::{FunctionDefinition, strict};
use crate::scalar::{Answer, EvalContext};
use blowfish::Blowfish;
use md5::Md5;
use repr::{Datum, ValueError, poll};
use sha2::digest::Digest;

const BCRYPT_LETTERS: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const MD5_LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Letters of a bcrypt salt, which stand for sixteen bytes.
const SALT_LETTERS: usize = 22;
/// Bytes of a password that bcrypt looks at, the zero at its end among them.
const PASSWORD_BYTES_MAX: usize = 72;
const COSTS: std::ops::RangeInclusive<u32> = 4..=31;
/// The cost of bcrypt if none is asked for.
const COST_USUAL: u32 = 6;
/// What MD5 does, which nobody can ask for otherwise.
const MD5_ROUNDS: usize = 1000;

fn without_des() -> ValueError {
    ValueError {
        hint: Some("Use gen_salt('bf').".to_owned()),
        ..ValueError::new("0A000", "crypt by DES is not supported")
    }
}

fn invalid_salt() -> ValueError {
    ValueError::new("22023", "invalid salt")
}

fn crypt(args: &[Datum]) -> Answer {
    let (password, setting) = (text(&args[0])?, text(&args[1])?);
    if setting.starts_with("$2a$") {
        return string(by_bcrypt(password, setting)?);
    }
    if let Some(rest) = setting.strip_prefix("$1$") {
        return string(by_md5(password, rest)?);
    }
    Err(without_des())
}

/// # Errors
/// 22023 for a setting that is none.
fn by_bcrypt(password: &str, setting: &str) -> Result<String, ValueError> {
    let digits = setting.get(4..6).filter(|_| setting.as_bytes().get(6) == Some(&b'$')).ok_or_else(invalid_salt)?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    let cost: u32 = digits.parse().ok().filter(|cost| is_number && COSTS.contains(cost)).ok_or_else(invalid_salt)?;
    let letters = setting.as_bytes().get(7..7 + SALT_LETTERS).ok_or_else(invalid_salt)?;
    let salt = decoded(letters).ok_or_else(invalid_salt)?;
    let mut key = password.as_bytes().to_vec();
    key.push(0);
    key.truncate(PASSWORD_BYTES_MAX);
    let mut state: Blowfish = Blowfish::bc_init_state();
    state.salted_expand_key(&salt, &key);
    for _ in 0..1_u64 << cost {
        // Each takes a millisecond at most.
        poll::steps(1024)?;
        state.bc_expand_key(&key);
        state.bc_expand_key(&salt);
    }
    let mut hash = Vec::with_capacity(24);
    for pair in b"OrpheanBeholderScryDoubt".chunks_exact(8) {
        let word = |at: usize| u32::from_be_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
        let mut words = [word(0), word(4)];
        for _ in 0..64 {
            words = state.bc_encrypt(words);
        }
        hash.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    }
    // The last byte is left out, as ever.
    Ok(format!("$2a${digits}${}{}", encoded(&salt), encoded(&hash[..23])))
}

/// The sixteen bytes that letters stand for.
fn decoded(letters: &[u8]) -> Option<[u8; 16]> {
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(17), 0_u32, 0);
    for letter in letters {
        let place = BCRYPT_LETTERS.iter().position(|known| known == letter)?;
        bits = bits << 6 | place as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes.get(..16)?.try_into().ok()
}

fn encoded(bytes: &[u8]) -> String {
    let (mut letters, mut bits, mut count) = (String::with_capacity(31), 0_u32, 0);
    let letter = |bits: u32| char::from(BCRYPT_LETTERS[(bits & 63) as usize]);
    for byte in bytes {
        bits = (bits << 8 | u32::from(*byte)) & 0xffff;
        count += 8;
        while count >= 6 {
            count -= 6;
            letters.push(letter(bits >> count));
        }
    }
    if count > 0 {
        letters.push(letter(bits << (6 - count)));
    }
    letters
}

/// `rest` is the salt, up to a dollar, and what stands behind it.
fn by_md5(password: &str, rest: &str) -> Result<String, ValueError> {
    poll::bytes(password.len().saturating_mul(MD5_ROUNDS))?;
    let password = password.as_bytes();
    let salt: &[u8] = rest.as_bytes().split(|byte| *byte == b'$').next().unwrap_or_default();
    let salt = &salt[..salt.len().min(8)];
    let mut hash: [u8; 16] = digest_of(&[password, salt, password]);
    let mut first = Md5::new();
    [password, b"$1$", salt].iter().for_each(|part| first.update(part));
    for start in (0..password.len()).step_by(16) {
        first.update(&hash[..16.min(password.len() - start)]);
    }
    let mut length = password.len();
    while length > 0 {
        first.update(if length & 1 == 1 { &[0] } else { &password[..1] });
        length >>= 1;
    }
    hash = first.finalize().into();
    for round in 0..MD5_ROUNDS {
        poll::step()?;
        let own = if round % 2 == 1 { password } else { hash.as_slice() };
        let other = if round % 2 == 1 { hash.as_slice() } else { password };
        let salted: &[u8] = if round % 3 != 0 { salt } else { &[] };
        let again: &[u8] = if round % 7 != 0 { password } else { &[] };
        hash = digest_of(&[own, salted, again, other]);
    }
    let mut letters = String::with_capacity(22);
    let mut add = |mut bits: u32, count: usize| {
        for _ in 0..count {
            letters.push(char::from(MD5_LETTERS[(bits & 63) as usize]));
            bits >>= 6;
        }
    };
    for [a, b, c] in [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]] {
        add(u32::from(hash[a]) << 16 | u32::from(hash[b]) << 8 | u32::from(hash[c]), 4);
    }
    add(u32::from(hash[11]), 2);
    // A salt is letters; what is cut within one is none.
    let salt = std::str::from_utf8(salt).map_err(|_| invalid_salt())?;
    Ok(format!("$1${salt}${letters}"))
}

fn digest_of(parts: &[&[u8]]) -> [u8; 16] {
    let mut digest = Md5::new();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize().into()
}

fn gen_salt(ctx: &EvalContext, args: &[Datum]) -> Answer {
    let wrong = |why| ValueError::new("22023", format!("gen_salt: {why}"));
    let rounds = args.get(1).map_or(Ok(0), int4)?;
    let mut bytes = [0; 16];
    ctx.environment.random_bytes(&mut bytes);
    match text(&args[0])?.to_ascii_lowercase().as_str() {
        "bf" => {
            let cost = if rounds == 0 { Some(COST_USUAL) } else { u32::try_from(rounds).ok() };
            let cost = cost.filter(|cost| COSTS.contains(cost)).ok_or_else(|| wrong("Incorrect number of rounds"))?;
            string(format!("$2a${cost:02}${}", encoded(&bytes)))
        }
        "md5" if rounds == 0 || rounds == 1000 => {
            let letters = bytes[..8].iter().map(|byte| char::from(MD5_LETTERS[usize::from(byte & 63)]));
            string(format!("$1${}", letters.collect::<String>()))
        }
        "md5" => Err(wrong("Incorrect number of rounds")),
        "des" | "xdes" => Err(without_des()),
        _ => Err(wrong("Unknown salt algorithm")),
    }
}

pub(crate) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("crypt(text, text) text", |_, a, _| crypt(a)),
    strict("gen_salt(text, int4?) text", |ctx, a, _| gen_salt(ctx, a)).volatile(),
];
