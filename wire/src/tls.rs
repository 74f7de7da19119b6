//! Transport encryption: the server's certificate, made at first start or given by the operator.
//!
//! Stands between `server` (which loads it) and `transport` (which runs the handshake). Private keys
//! are written with mode 0600 and never leave this file.

use crate::client_certificate::Authorities;
use pgwire::api::auth::sasl::scram::ScramServerAuth;
use rustls::{ServerConfig, ServerConnection};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The protocol name that a client offers when it starts TLS without asking first.
pub(crate) const ALPN: &[u8] = b"postgresql";

/// What a TLS connection needs.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    /// SCRAM bound to the certificate; none where its signature has no channel binding of its own.
    pub(crate) binding: Option<ScramServerAuth>,
}

/// Why there is no TLS.
#[derive(Debug)]
pub enum TlsError {
    /// A file could not be read or written.
    File(PathBuf, io::Error),
    /// A file does not hold what it should.
    Pem(PathBuf, rustls_pki_types::pem::Error),
    /// The certificate could not be made.
    Generate(rcgen::Error),
    /// Certificate and key do not fit, or the library refuses them.
    Config(rustls::Error),
}

impl Tls {
    /// The server's side of one connection, before the handshake.
    pub fn connection(&self) -> io::Result<ServerConnection> {
        ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsError::File(path, error) => write!(f, "could not use \"{}\": {error}", path.display()),
            TlsError::Pem(path, error) => write!(f, "\"{}\" is not what it should be: {error}", path.display()),
            TlsError::Generate(error) => write!(f, "could not make a certificate: {error}"),
            TlsError::Config(error) => write!(f, "certificate and key are not usable: {error}"),
        }
    }
}

impl std::error::Error for TlsError {}

/// Loads the operator's certificate, or the self-signed one of the data folder, which is made if absent. A certificate whose key
/// is missing is refused: clients trust it. With authorities, clients are asked for certificates.
pub(crate) fn load(
    data: &Path,
    own: Option<(&Path, &Path)>,
    authorities: Option<&Authorities>,
) -> Result<Tls, TlsError> {
    let (certificate, key) = match own {
        Some((certificate, key)) => (certificate.to_path_buf(), key.to_path_buf()),
        None => {
            let certificate = data.join("server.crt");
            let key = data.join("server.key");
            match (certificate.exists(), key.exists()) {
                (true, true) => {}
                (false, false) => generate(&certificate, &key)?,
                // What a crash between the two has left. The key stays: clients may know it.
                (false, true) => certify(&certificate, &key)?,
                (true, false) => return Err(TlsError::File(key, io::ErrorKind::NotFound.into())),
            }
            (certificate, key)
        }
    };
    let certificate_pem = fs::read(&certificate).map_err(|error| TlsError::File(certificate.clone(), error))?;
    let chain = CertificateDer::pem_slice_iter(&certificate_pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| TlsError::Pem(certificate, error))?;
    let key_pem = fs::read(&key).map_err(|error| TlsError::File(key.clone(), error))?;
    let key = PrivateKeyDer::from_pem_slice(&key_pem).map_err(|error| TlsError::Pem(key, error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Config)?;
    let config = match authorities {
        Some(authorities) => config.with_client_cert_verifier(authorities.in_handshake()),
        None => config.with_no_client_auth(),
    };
    let mut config = config.with_single_cert(chain, key).map_err(TlsError::Config)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    let mut binding = ScramServerAuth::new();
    let binding = binding.configure_certificate(&certificate_pem).is_ok().then_some(binding);
    Ok(Tls { config: Arc::new(config), binding })
}

/// Makes a key, then its certificate.
fn generate(certificate: &Path, key: &Path) -> Result<(), TlsError> {
    let pair = rcgen::KeyPair::generate().map_err(TlsError::Generate)?;
    write_new(key, pair.serialize_pem().as_bytes(), 0o600).map_err(|error| TlsError::File(key.to_path_buf(), error))?;
    certify(certificate, key)
}

/// Makes the certificate of a key.
fn certify(certificate: &Path, key: &Path) -> Result<(), TlsError> {
    let names = vec!["localhost".to_string(), "127.0.0.1".to_string(), "::1".to_string()];
    let pem = fs::read_to_string(key).map_err(|error| TlsError::File(key.to_path_buf(), error))?;
    let damaged = |error: rcgen::Error| TlsError::File(key.to_path_buf(), io::Error::other(error.to_string()));
    let pair = rcgen::KeyPair::from_pem(&pem).map_err(damaged)?;
    let parameters = rcgen::CertificateParams::new(names).map_err(TlsError::Generate)?;
    let made = parameters.self_signed(&pair).map_err(TlsError::Generate)?;
    write_new(certificate, made.pem().as_bytes(), 0o600)
        .map_err(|error| TlsError::File(certificate.to_path_buf(), error))
}

/// Writes a file so that after a crash it is either absent or whole, with these permissions from the start.
pub(crate) fn write_new(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = PathBuf::from(temporary);
    match fs::remove_file(&temporary) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    if let Some(folder) = path.parent() {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_certificate_is_made_once_and_kept_private() {
        let data = std::env::temp_dir().join(format!("dogwood-tls-{}", std::process::id()));
        let _gone = fs::remove_dir_all(&data);
        fs::create_dir_all(&data).expect("folder");
        load(&data, None, None).expect("made");
        let first = fs::read(data.join("server.crt")).expect("read");
        assert!(load(&data, None, None).expect("loaded").binding.is_some());
        assert_eq!(fs::read(data.join("server.crt")).expect("read"), first);
        for file in ["server.key", "server.crt"] {
            let mode = fs::metadata(data.join(file)).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let key = fs::read(data.join("server.key")).expect("read");
        fs::remove_file(data.join("server.crt")).expect("removed");
        load(&data, None, None).expect("certified again");
        assert_eq!(fs::read(data.join("server.key")).expect("read"), key, "under the same key");
        fs::remove_file(data.join("server.key")).expect("removed");
        let Err(error) = load(&data, None, None) else { panic!("the certificate's key is missing") };
        assert!(error.to_string().contains("server.key"));
        assert!(!data.join("server.key").exists());
        fs::remove_dir_all(&data).expect("removed");
    }

    #[test]
    fn a_missing_own_certificate_is_named() {
        let missing = Path::new("/nonexistent/own.crt");
        let Err(error) = load(Path::new("/tmp"), Some((missing, missing)), None) else {
            panic!("there is no such file")
        };
        assert!(error.to_string().contains("/nonexistent/own.crt"));
    }
}
