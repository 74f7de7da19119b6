//! What a client's certificate says, if it has shown one.
//!
//! The handshake takes any certificate whose key the client proves to have, so that one which ended, is to begin yet or is of
//! another authority can be refused by name, as any login is. Nothing is believed of one that was not judged here.

use rustls::client::danger::HandshakeSignatureValid;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, UnixTime};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs, io};
use x509_certificate::certificate::X509Certificate;

/// The authorities whose certificates hold.
#[derive(Clone, Debug)]
pub struct Authorities {
    verifier: Arc<dyn ClientCertVerifier>,
}

/// Why there are none.
#[derive(Debug)]
pub enum AuthoritiesError {
    /// Their file could not be read.
    File(PathBuf, io::Error),
    /// It does not hold what it should.
    Pem(PathBuf, rustls_pki_types::pem::Error),
    /// One of its certificates is none of an authority, or there are none.
    Unusable(PathBuf, String),
}

/// What a client has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ShownCertificate {
    /// Nothing.
    Nothing,
    /// One that holds, and whom it names, if anybody.
    Holds(Option<String>),
    /// One that does not.
    Refused(Refusal),
}

/// Why a certificate does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Its time is over.
    Ended,
    /// Its time has not come.
    NotYetValid,
    /// It is of an authority that is not known.
    Foreign,
    /// It is for something else.
    Purpose,
    /// It is not what a certificate should be.
    Malformed,
    /// Certificates are asked for nowhere here.
    Unasked,
}

impl Authorities {
    /// Reads their certificates, in PEM.
    pub(crate) fn load(path: &Path) -> Result<Authorities, AuthoritiesError> {
        let pem = fs::read(path).map_err(|error| AuthoritiesError::File(path.to_path_buf(), error))?;
        let unusable = |error: &dyn fmt::Display| AuthoritiesError::Unusable(path.to_path_buf(), error.to_string());
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            let certificate = certificate.map_err(|error| AuthoritiesError::Pem(path.to_path_buf(), error))?;
            roots.add(certificate).map_err(|error| unusable(&error))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().map_err(|error| unusable(&error))?;
        Ok(Authorities { verifier })
    }

    /// What the handshake asks.
    pub(crate) fn in_handshake(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::new(JudgedLater(Arc::clone(&self.verifier)))
    }

    /// Judges what a client has shown in its handshake, by the clock as it is now.
    pub(crate) fn judge(&self, shown: Option<&[CertificateDer<'_>]>) -> ShownCertificate {
        let Some([certificate, others @ ..]) = shown else { return ShownCertificate::Nothing };
        match self.verifier.verify_client_cert(certificate, others, UnixTime::now()) {
            Ok(_) => ShownCertificate::Holds(common_name(certificate)),
            Err(rustls::Error::InvalidCertificate(error)) => ShownCertificate::Refused(Refusal::of(&error)),
            Err(_) => ShownCertificate::Refused(Refusal::Malformed),
        }
    }
}

impl Refusal {
    fn of(error: &CertificateError) -> Refusal {
        match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Refusal::Ended,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Refusal::NotYetValid,
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Refusal::Foreign,
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => Refusal::Purpose,
            // Another library's enumeration, which grows.
            _ => Refusal::Malformed,
        }
    }

    /// In a sentence.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Refusal::Ended => "The client certificate has expired.",
            Refusal::NotYetValid => "The client certificate is not yet valid.",
            Refusal::Foreign => "The client certificate was issued by an unknown authority.",
            Refusal::Purpose => "The client certificate is not one for clients.",
            Refusal::Malformed => "The client certificate is malformed.",
            Refusal::Unasked => "This server checks no client certificates.",
        }
    }
}

/// Whom a certificate names: its common name, if it has one and it is a name.
fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    let read = X509Certificate::from_der(certificate.as_ref()).ok()?;
    let mut names = read.subject_name().iter_common_name();
    let name = names.next()?.to_string().ok()?;
    // Of two it could be either; and one with a zero byte is another to who reads up to it.
    Some(name).filter(|_| names.next().is_none()).filter(|name| !name.is_empty() && !name.contains('\0'))
}

/// Takes any certificate whose key the client has, for who judges it later.
#[derive(Debug)]
struct JudgedLater(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for JudgedLater {
    fn offer_client_auth(&self) -> bool {
        true
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

impl fmt::Display for AuthoritiesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuthoritiesError::File(path, error) => write!(f, "could not use \"{}\": {error}", path.display()),
            AuthoritiesError::Pem(path, error) => write!(f, "\"{}\" is not what it should be: {error}", path.display()),
            AuthoritiesError::Unusable(path, error) => {
                write!(f, "the authorities in \"{}\" are not usable: {error}", path.display())
            }
        }
    }
}

impl std::error::Error for AuthoritiesError {}
