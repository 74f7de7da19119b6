//! The boundary to libsodium: the only unsafe code of the workspace, behind functions that cannot be misused.
//!
//! Slices and fixed arrays go in, lengths are checked here. `initialize` must have run before anything
//! else; `Store::open` and the offline verifiers see to it. No other file may call `libsodium_sys`.

use std::cell::RefCell;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use libsodium_sys as sodium;

/// Bytes of every symmetric key here.
pub(crate) const KEY_BYTES: usize = 32;
/// Bytes of an AEGIS-256 nonce.
pub(crate) const AEGIS_NONCE_BYTES: usize = 32;
/// Bytes of an AEGIS-256 tag.
pub(crate) const AEGIS_TAG_BYTES: usize = 32;
/// Bytes of an AES-GCM nonce.
pub(crate) const GCM_NONCE_BYTES: usize = 12;
/// Bytes of an AES-GCM tag.
pub(crate) const GCM_TAG_BYTES: usize = 16;
/// Bytes of an XChaCha20-Poly1305 nonce.
pub(crate) const WRAP_NONCE_BYTES: usize = 24;
/// Bytes of an XChaCha20-Poly1305 tag.
pub(crate) const WRAP_TAG_BYTES: usize = 16;

/// Starts libsodium; any number of threads may call it, any number of times.
pub(crate) fn initialize() {
    static STARTED: OnceLock<()> = OnceLock::new();
    STARTED.get_or_init(|| {
        // SAFETY: no arguments; libsodium allows repeated calls.
        let status = unsafe { sodium::sodium_init() };
        assert!(status >= 0, "libsodium starts wherever it was built for");
    });
}

/// Forbids core dumps and other users' debuggers: a dump would hold raw data keys.
pub(crate) fn forbid_core_dumps() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `none` outlives the call; both calls only lower what this process may do.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
}

/// Fills from the system's generator: one system call, dearer than sealing a row; see `nonce`.
pub(crate) fn random(bytes: &mut [u8]) {
    // SAFETY: pointer and length come from one slice.
    unsafe { sodium::randombytes_buf(bytes.as_mut_ptr().cast(), bytes.len()) }
}

/// A random array, for keys and ids.
pub(crate) fn random_array<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    random(&mut bytes);
    bytes
}

/// Fills from ChaCha20 with a seed that the system's generator gives for it alone, and that is forgotten: many times as fast.
fn random_by_seed(bytes: &mut [u8]) {
    let mut seed = random_array::<{ sodium::randombytes_SEEDBYTES as usize }>();
    // SAFETY: pointer and length come from one slice, and the seed has the length that is read.
    unsafe { sodium::randombytes_buf_deterministic(bytes.as_mut_ptr().cast(), bytes.len(), seed.as_ptr()) };
    wipe(&mut seed);
}

/// A random nonce from this thread's pool, refilled 4 KiB at a time.
pub(crate) fn nonce<const N: usize>() -> [u8; N] {
    const POOL_BYTES: usize = 4096;
    thread_local! {
        static POOL: RefCell<([u8; POOL_BYTES], usize)> = const { RefCell::new(([0; POOL_BYTES], POOL_BYTES)) };
    }
    POOL.with_borrow_mut(|(pool, used)| {
        if *used + N > POOL_BYTES {
            random_by_seed(pool);
            *used = 0;
        }
        let mut bytes = [0; N];
        bytes.copy_from_slice(&pool[*used..*used + N]);
        *used += N;
        bytes
    })
}

/// Overwrites in a way that the compiler keeps.
pub(crate) fn wipe(bytes: &mut [u8]) {
    // SAFETY: pointer and length come from one slice.
    unsafe { sodium::sodium_memzero(bytes.as_mut_ptr().cast(), bytes.len()) }
}

/// Whether the processor has what AES-256-GCM needs.
pub(crate) fn gcm_available() -> bool {
    // SAFETY: no arguments.
    unsafe { sodium::crypto_aead_aes256gcm_is_available() == 1 }
}

type Encrypt = unsafe extern "C" fn(
    *mut u8,
    *mut u64,
    *const u8,
    u64,
    *const u8,
    u64,
    *const u8,
    *const u8,
    *const u8,
) -> libc::c_int;
type Decrypt = unsafe extern "C" fn(
    *mut u8,
    *mut u64,
    *mut u8,
    *const u8,
    u64,
    *const u8,
    u64,
    *const u8,
    *const u8,
) -> libc::c_int;

/// One authenticated cipher: its functions and its sizes, so that lengths are checked in one place.
struct Aead<const NONCE: usize> {
    encrypt: Encrypt,
    decrypt: Decrypt,
    tag_bytes: usize,
}

const AEGIS: Aead<AEGIS_NONCE_BYTES> = Aead {
    encrypt: sodium::crypto_aead_aegis256_encrypt,
    decrypt: sodium::crypto_aead_aegis256_decrypt,
    tag_bytes: AEGIS_TAG_BYTES,
};
const GCM: Aead<GCM_NONCE_BYTES> = Aead {
    encrypt: sodium::crypto_aead_aes256gcm_encrypt,
    decrypt: sodium::crypto_aead_aes256gcm_decrypt,
    tag_bytes: GCM_TAG_BYTES,
};
const WRAP: Aead<WRAP_NONCE_BYTES> = Aead {
    encrypt: sodium::crypto_aead_xchacha20poly1305_ietf_encrypt,
    decrypt: sodium::crypto_aead_xchacha20poly1305_ietf_decrypt,
    tag_bytes: WRAP_TAG_BYTES,
};

impl<const NONCE: usize> Aead<NONCE> {
    /// Appends ciphertext and tag to `out`.
    fn seal(&self, key: &[u8; KEY_BYTES], nonce: &[u8; NONCE], data: &[u8], plain: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + plain.len() + self.tag_bytes, 0);
        // SAFETY: `out` has room for plaintext and tag from `start`; key and nonce have the cipher's sizes.
        let status = unsafe {
            (self.encrypt)(
                out.as_mut_ptr().add(start),
                ptr::null_mut(),
                plain.as_ptr(),
                plain.len() as u64,
                data.as_ptr(),
                data.len() as u64,
                ptr::null(),
                nonce.as_ptr(),
                key.as_ptr(),
            )
        };
        assert_eq!(status, 0, "sealing fails only past the cipher's length limit of terabytes");
    }

    /// The plaintext, or nothing when any bit of key, nonce, data or ciphertext differs.
    fn open(&self, key: &[u8; KEY_BYTES], nonce: &[u8; NONCE], data: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let mut plain = Vec::with_capacity(sealed.len().checked_sub(self.tag_bytes)?);
        self.open_into(key, nonce, data, sealed, &mut plain).then_some(plain)
    }

    /// Appends the plaintext; false, and nothing is appended, when any bit of key, nonce, data or ciphertext differs.
    fn open_into(
        &self,
        key: &[u8; KEY_BYTES],
        nonce: &[u8; NONCE],
        data: &[u8],
        sealed: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(length) = sealed.len().checked_sub(self.tag_bytes) else { return false };
        let start = out.len();
        out.resize(start + length, 0);
        // SAFETY: `out` has room for the ciphertext without its tag from `start`; key and nonce have the cipher's sizes.
        let status = unsafe {
            (self.decrypt)(
                out.as_mut_ptr().add(start),
                ptr::null_mut(),
                ptr::null_mut(),
                sealed.as_ptr(),
                sealed.len() as u64,
                data.as_ptr(),
                data.len() as u64,
                nonce.as_ptr(),
                key.as_ptr(),
            )
        };
        if status != 0 {
            out.truncate(start);
        }
        status == 0
    }
}

/// AEGIS-256: appends ciphertext and tag.
pub(crate) fn aegis_seal(
    key: &[u8; KEY_BYTES],
    nonce: &[u8; AEGIS_NONCE_BYTES],
    data: &[u8],
    plain: &[u8],
    out: &mut Vec<u8>,
) {
    AEGIS.seal(key, nonce, data, plain, out);
}

/// AEGIS-256: appends the plaintext, if authentic; whether it is.
pub(crate) fn aegis_open(
    key: &[u8; KEY_BYTES],
    nonce: &[u8; AEGIS_NONCE_BYTES],
    data: &[u8],
    sealed: &[u8],
    out: &mut Vec<u8>,
) -> bool {
    AEGIS.open_into(key, nonce, data, sealed, out)
}

/// AES-256-GCM: appends ciphertext and tag. The caller has checked `gcm_available`.
pub(crate) fn gcm_seal(
    key: &[u8; KEY_BYTES],
    nonce: &[u8; GCM_NONCE_BYTES],
    data: &[u8],
    plain: &[u8],
    out: &mut Vec<u8>,
) {
    assert!(gcm_available(), "a store that seals with AES-GCM opened only where it is available");
    GCM.seal(key, nonce, data, plain, out);
}

/// AES-256-GCM: appends the plaintext, if authentic and if the processor can; whether that is so.
pub(crate) fn gcm_open(
    key: &[u8; KEY_BYTES],
    nonce: &[u8; GCM_NONCE_BYTES],
    data: &[u8],
    sealed: &[u8],
    out: &mut Vec<u8>,
) -> bool {
    gcm_available() && GCM.open_into(key, nonce, data, sealed, out)
}

/// XChaCha20-Poly1305, for wrapping keys: appends ciphertext and tag.
pub(crate) fn wrap(
    key: &[u8; KEY_BYTES],
    nonce: &[u8; WRAP_NONCE_BYTES],
    data: &[u8],
    plain: &[u8],
    out: &mut Vec<u8>,
) {
    WRAP.seal(key, nonce, data, plain, out);
}

/// XChaCha20-Poly1305: the wrapped bytes, if authentic.
pub(crate) fn unwrap(
    key: &[u8; KEY_BYTES],
    nonce: &[u8; WRAP_NONCE_BYTES],
    data: &[u8],
    sealed: &[u8],
) -> Option<Vec<u8>> {
    WRAP.open(key, nonce, data, sealed)
}

/// BLAKE2b of `N` bytes (16 to 64) over the bytes.
pub(crate) fn hash<const N: usize>(bytes: &[u8]) -> [u8; N] {
    generic_hash(&[], bytes)
}

/// The same over parts one after the other, none of which is copied.
pub(crate) fn hash_parts<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    const { assert!(N >= 16 && N <= 64, "BLAKE2b gives 16 to 64 bytes") };
    let (mut digest, mut state) = ([0; N], std::mem::MaybeUninit::<sodium::crypto_generichash_state>::uninit());
    // SAFETY: `init` writes the state before anything reads it; pointers and lengths come from the same slices; `N` is within
    // BLAKE2b's bounds, and the same at the beginning and at the end.
    let failed = unsafe {
        let begun = sodium::crypto_generichash_init(state.as_mut_ptr(), ptr::null(), 0, N);
        let added = parts
            .iter()
            .map(|part| sodium::crypto_generichash_update(state.as_mut_ptr(), part.as_ptr(), part.len() as u64));
        let added = added.fold(0, |failed, status| failed | status);
        begun | added | sodium::crypto_generichash_final(state.as_mut_ptr(), digest.as_mut_ptr(), N)
    };
    assert_eq!(failed, 0, "hashing fails only for lengths checked above");
    digest
}

/// Keyed BLAKE2b of `N` bytes (16 to 64): a pseudo-random function for whoever lacks the key.
pub(crate) fn keyed_hash<const N: usize>(key: &[u8; KEY_BYTES], bytes: &[u8]) -> [u8; N] {
    generic_hash(key, bytes)
}

fn generic_hash<const N: usize>(key: &[u8], bytes: &[u8]) -> [u8; N] {
    const { assert!(N >= 16 && N <= 64, "BLAKE2b gives 16 to 64 bytes") };
    let mut digest = [0; N];
    let key_pointer = if key.is_empty() { ptr::null() } else { key.as_ptr() };
    // SAFETY: pointers and lengths come from the same slices; `N` is within BLAKE2b's bounds.
    let status = unsafe {
        sodium::crypto_generichash(digest.as_mut_ptr(), N, bytes.as_ptr(), bytes.len() as u64, key_pointer, key.len())
    };
    assert_eq!(status, 0, "hashing fails only for lengths checked above");
    digest
}

/// How a key is derived from a passphrase: Argon2id's salt and costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Argon2id {
    /// Random.
    pub(crate) salt: [u8; 16],
    /// Passes over the memory.
    pub(crate) passes: u64,
    /// Its bytes.
    pub(crate) memory_bytes: u64,
}

impl Argon2id {
    /// As libsodium has it for what is asked for seldom: 0.7 s and 256 MiB.
    pub(crate) fn fresh() -> Argon2id {
        let (passes, memory_bytes) = (sodium::crypto_pwhash_OPSLIMIT_MODERATE, sodium::crypto_pwhash_MEMLIMIT_MODERATE);
        Argon2id { salt: random_array(), passes: u64::from(passes), memory_bytes: u64::from(memory_bytes) }
    }
}

/// The key of a passphrase; nothing where there is not so much memory, or the costs are none that Argon2id has.
pub(crate) fn derive(passphrase: &[u8], by: &Argon2id) -> Option<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    let memory_bytes = usize::try_from(by.memory_bytes).ok()?;
    // SAFETY: key and salt have the sizes that are said; pointer and length of the passphrase come from one slice.
    let status = unsafe {
        sodium::crypto_pwhash(
            key.as_mut_ptr(),
            KEY_BYTES as u64,
            passphrase.as_ptr().cast(),
            passphrase.len() as u64,
            by.salt.as_ptr(),
            by.passes,
            memory_bytes,
            sodium::crypto_pwhash_ALG_ARGON2ID13 as libc::c_int,
        )
    };
    (status == 0).then_some(key)
}

/// SipHash-2-4 of 16 bytes: a pseudo-random function for whoever lacks the key.
pub(crate) fn short_hash_wide(key: &[u8; 16], bytes: &[u8]) -> [u8; 16] {
    let mut digest = [0; 16];
    // SAFETY: `digest` and the key have the 16 bytes that SipHash of this width writes and reads.
    unsafe {
        sodium::crypto_shorthash_siphashx24(digest.as_mut_ptr(), bytes.as_ptr(), bytes.len() as u64, key.as_ptr())
    };
    digest
}

/// SipHash-2-4 of a short message.
pub(crate) fn short_hash(key: &[u8; 16], bytes: &[u8]) -> u64 {
    let mut digest = [0; 8];
    // SAFETY: `digest` has SipHash's 8 bytes, the key its 16.
    unsafe { sodium::crypto_shorthash(digest.as_mut_ptr(), bytes.as_ptr(), bytes.len() as u64, key.as_ptr()) };
    u64::from_le_bytes(digest)
}

/// An Ed25519 key pair, wiped when dropped.
pub(crate) struct SigningKey {
    public: [u8; 32],
    secret: Box<[u8; 64]>,
    coding: Box<[u8; KEY_BYTES]>,
}

impl SigningKey {
    /// The pair that belongs to a seed.
    pub(crate) fn from_seed(seed: &[u8; 32]) -> SigningKey {
        let coding = Box::new(keyed_hash(seed, b"dogwood codes 1"));
        let mut pair = SigningKey { public: [0; 32], secret: Box::new([0; 64]), coding };
        // SAFETY: the arrays have Ed25519's sizes.
        let status = unsafe {
            sodium::crypto_sign_seed_keypair(pair.public.as_mut_ptr(), pair.secret.as_mut_ptr(), seed.as_ptr())
        };
        assert_eq!(status, 0, "a key pair is derived from any seed");
        pair
    }

    /// The public key.
    pub(crate) fn public(&self) -> [u8; 32] {
        self.public
    }

    /// Signs; 12.5 µs.
    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        let mut signature = [0; 64];
        // SAFETY: the arrays have Ed25519's sizes; pointer and length come from one slice.
        let status = unsafe {
            sodium::crypto_sign_detached(
                signature.as_mut_ptr(),
                ptr::null_mut(),
                message.as_ptr(),
                message.len() as u64,
                self.secret.as_ptr(),
            )
        };
        assert_eq!(status, 0, "signing fails for no message");
        signature
    }

    /// A code in the place of a signature, for what only who holds this key is to check; a twentieth of the time.
    pub(crate) fn code(&self, message: &[u8]) -> [u8; 64] {
        keyed_hash(&self.coding, message)
    }
}

impl Drop for SigningKey {
    fn drop(&mut self) {
        wipe(&mut self.secret[..]);
        wipe(&mut self.coding[..]);
    }
}

/// Whether the signature over the message was made with the public key's secret.
pub(crate) fn verify(public: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    // SAFETY: the arrays have Ed25519's sizes; pointer and length come from one slice.
    unsafe {
        sodium::crypto_sign_verify_detached(signature.as_ptr(), message.as_ptr(), message.len() as u64, public.as_ptr())
            == 0
    }
}

/// Memory for secrets: guarded, kept out of core dumps, locked as far as `RLIMIT_MEMLOCK` allows, wiped on drop.
pub(crate) struct SecretMemory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it owns its allocation as a Box does; shared access is only through `&self` and reads.
unsafe impl Send for SecretMemory {}
// SAFETY: as above.
unsafe impl Sync for SecretMemory {}

impl SecretMemory {
    /// Allocates zeroed memory. Aborts as other allocations do when there is none.
    pub(crate) fn new(bytes: usize) -> SecretMemory {
        // SAFETY: any size may be asked for; null is checked.
        let start = unsafe { sodium::sodium_malloc(bytes) };
        let Some(start) = NonNull::new(start.cast::<u8>()) else {
            std::alloc::handle_alloc_error(std::alloc::Layout::array::<u8>(bytes).expect("a size below isize::MAX"));
        };
        // SAFETY: the allocation has `bytes` bytes; libsodium fills it with garbage, not zeros.
        unsafe { ptr::write_bytes(start.as_ptr(), 0, bytes) };
        SecretMemory { start, bytes }
    }

    /// The memory.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the allocation lives as long as `self` and was initialised in `new`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// The memory, to write.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` excludes other references.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for SecretMemory {
    fn drop(&mut self) {
        // SAFETY: allocated by `sodium_malloc`, freed once; it wipes before it frees.
        unsafe { sodium::sodium_free(self.start.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ciphers_open_what_they_sealed_and_nothing_else() {
        initialize();
        let key = random_array::<32>();
        for bytes in [0_usize, 1, 100, 5000] {
            let plain = vec![7; bytes];
            let mut sealed = Vec::new();
            let nonce = nonce::<32>();
            aegis_seal(&key, &nonce, b"place", &plain, &mut sealed);
            // Behind others, which stay as they are.
            let mut opened = b"others".to_vec();
            assert!(aegis_open(&key, &nonce, b"place", &sealed, &mut opened));
            assert_eq!(opened, [b"others".as_slice(), &plain].concat());
            assert!(!aegis_open(&key, &nonce, b"other", &sealed, &mut opened));
            sealed[bytes / 2] ^= 1;
            assert!(!aegis_open(&key, &nonce, b"place", &sealed, &mut opened));
            assert_eq!(opened.len(), b"others".len() + bytes);
        }
        assert!(!aegis_open(&key, &[0; 32], b"", b"short", &mut Vec::new()));
    }

    #[test]
    fn nonces_differ_across_refills() {
        initialize();
        let mut seen: Vec<[u8; 32]> = (0..1000).map(|_| nonce::<32>()).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 1000);
    }

    #[test]
    fn secret_memory_starts_zeroed() {
        initialize();
        let mut memory = SecretMemory::new(4096 + 32);
        assert!(memory.bytes().iter().all(|byte| *byte == 0));
        memory.bytes_mut()[4127] = 1;
        assert_eq!(memory.bytes()[4127], 1);
    }
}
