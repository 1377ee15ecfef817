//! Static keys of KEMs: the holder of a certificate authenticates by decapsulating (docs/kem-auth.md).

use aws_lc_rs::agreement::PrivateKey;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::kem::DecapsulationKey;
use der::asn1::{AnyRef, OctetStringRef};
use der::{Decode, Reader, SliceReader, Tag, TagNumber, Tagged};
use ml_kem::{DecapsulationKey512, DecapsulationKey768, DecapsulationKey1024};
use tessera::crypto::{AgreementError, Decapsulator, KeyAgreement, Random, SharedSecret};
use tessera::wire::SignatureScheme;
use zeroize::Zeroizing;

use crate::kem::MlKem;
use crate::key_rejected::KeyRejected;
use crate::random::AwsLc;
use crate::{dh, expanded, kem, key_info};

/// A private key of a KEM: ML-KEM-512, ML-KEM-768, ML-KEM-1024 (RFC 9935) or X25519 (RFC 8410).
pub struct KemKey {
    kind: &'static Kind,
    private: PrivateHalf,
    public_key_info: Vec<u8>,
    public_len: usize,
}

enum PrivateHalf {
    MlKem(DecapsulationKey, &'static MlKem),
    X25519(PrivateKey),
}

impl KemKey {
    /// Reads an unencrypted PKCS#8 key (RFC 5958) as DER and detects its kind. A key of ML-KEM is its seed, the expanded key,
    /// or both (RFC 9935 §6), which must agree; the first two also without their tags, as OpenSSL writes them on request. An
    /// expanded key must pass the checks of FIPS 203 §7.3 and decapsulate what is encapsulated to its public half.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, KeyRejected> {
        let (algorithm, private) = key_info::open(der).map_err(|_| KeyRejected::Malformed)?;
        let kind = KINDS.iter().find(|kind| algorithm.starts_with(kind.algorithm));
        let kind = kind.ok_or(KeyRejected::Unsupported)?;
        // RFC 9935 §3, RFC 8410 §3: there are no parameters.
        if algorithm != kind.algorithm {
            return Err(KeyRejected::Malformed);
        }
        let (private, public) = match &kind.ml_kem {
            Some(form) => form.read(private)?,
            None => read_x25519(private).map_err(|_| KeyRejected::Malformed)?,
        };
        let public_key_info =
            key_info::public(kind.algorithm, &public).map_err(|_| KeyRejected::Malformed)?;
        Ok(Self { kind, private, public_key_info, public_len: public.len() })
    }

    /// Makes a key of this KEM, as PKCS#8: of ML-KEM the seed, as RFC 9935 §6 recommends. A [`KemKey`] doesn't keep it.
    ///
    /// # Errors
    /// Returns an error if there are no such keys.
    pub fn generate_pkcs8(scheme: SignatureScheme) -> Result<Zeroizing<Vec<u8>>, AgreementError> {
        let kind = KINDS.iter().find(|kind| kind.scheme == scheme);
        let kind = kind.ok_or(AgreementError::Provider)?;
        let mut seed = Zeroizing::new([0; SEED_LEN]);
        // The tags of `seed` (RFC 9935 §6) and of CurvePrivateKey, an OCTET STRING (RFC 8410 §7).
        let (tag, len) = match kind.ml_kem {
            Some(_) => (0x80, SEED_LEN),
            None => (4, X25519_LEN),
        };
        let seed = seed.get_mut(..len).ok_or(AgreementError::Provider)?;
        AwsLc.fill(seed).map_err(|_| AgreementError::Provider)?;
        key_info::wrap_short(kind.algorithm, tag, seed).ok_or(AgreementError::Provider)
    }

    /// Returns the public half, the contents of the BIT STRING of a SubjectPublicKeyInfo (RFC 5280 §4.1.2.7), to check that
    /// a certificate belongs to this key.
    pub fn public_key(&self) -> &[u8] {
        self.public_key_info.split_at(self.public_key_info.len() - self.public_len).1
    }

    /// Returns the public half as a SubjectPublicKeyInfo, DER: a raw public key (RFC 7250).
    pub fn public_key_info(&self) -> &[u8] {
        &self.public_key_info
    }
}

impl Decapsulator for KemKey {
    fn scheme(&self) -> &SignatureScheme {
        &self.kind.scheme
    }

    fn public_key(&self) -> Option<&[u8]> {
        Some(KemKey::public_key(self))
    }

    fn decapsulate(&self, encapsulation: &[u8]) -> Result<SharedSecret, AgreementError> {
        match &self.private {
            PrivateHalf::MlKem(key, of) => kem::decapsulate(key, of.reply_len(), encapsulation),
            PrivateHalf::X25519(key) => dh::X25519.agree(key, encapsulation),
        }
    }
}

/// Length of an ML-KEM seed in bytes: d and z (FIPS 203 §6.1).
const SEED_LEN: usize = 64;

/// Length of an X25519 scalar in bytes.
const X25519_LEN: usize = 32;

/// A kind of keys.
struct Kind {
    scheme: SignatureScheme,
    /// The contents of its AlgorithmIdentifier: the identifier alone.
    algorithm: &'static [u8],
    /// `None` for X25519.
    ml_kem: Option<MlKemForm>,
}

static KINDS: [Kind; 4] = [
    Kind::new(
        SignatureScheme::KEM_MLKEM512,
        Some(MlKemForm {
            of: &kem::ML_KEM_512,
            from_seed: expanded::from_seed::<DecapsulationKey512>,
            passes_checks: expanded::passes_checks::<DecapsulationKey512>,
        }),
    ),
    Kind::new(
        SignatureScheme::KEM_MLKEM768,
        Some(MlKemForm {
            of: &kem::ML_KEM_768,
            from_seed: expanded::from_seed::<DecapsulationKey768>,
            passes_checks: expanded::passes_checks::<DecapsulationKey768>,
        }),
    ),
    Kind::new(
        SignatureScheme::KEM_MLKEM1024,
        Some(MlKemForm {
            of: &kem::ML_KEM_1024,
            from_seed: expanded::from_seed::<DecapsulationKey1024>,
            passes_checks: expanded::passes_checks::<DecapsulationKey1024>,
        }),
    ),
    Kind::new(SignatureScheme::KEM_X25519, None),
];

impl Kind {
    const fn new(scheme: SignatureScheme, ml_kem: Option<MlKemForm>) -> Self {
        let algorithm = scheme.kem_key_algorithm().expect("its keys have a form");
        Self { scheme, algorithm, ml_kem }
    }
}

/// How keys of one size of ML-KEM are read.
struct MlKemForm {
    of: &'static MlKem,
    from_seed: fn(&[u8]) -> Option<Zeroizing<Vec<u8>>>,
    passes_checks: fn(&[u8]) -> bool,
}

impl MlKemForm {
    /// Reads a privateKey; returns it with its public half.
    fn read(&self, private: &[u8]) -> Result<(PrivateHalf, Vec<u8>), KeyRejected> {
        self.read_if_right(private).ok_or(KeyRejected::Malformed)
    }

    fn read_if_right(&self, private: &[u8]) -> Option<(PrivateHalf, Vec<u8>)> {
        let MlKemPrivateKey { seed, expanded } = match private.len() {
            // What OpenSSL calls bare; every form of the RFC has another length.
            SEED_LEN => MlKemPrivateKey { seed: Some(private), expanded: None },
            len if len == self.of.expanded_len() => {
                MlKemPrivateKey { seed: None, expanded: Some(private) }
            }
            _ => MlKemPrivateKey::read(private).ok()?,
        };
        let from_seed = match seed {
            Some(seed) => Some((self.from_seed)(seed)?),
            None => None,
        };
        let expanded = match (from_seed.as_ref(), expanded) {
            (Some(from_seed), Some(expanded)) => {
                verify_slices_are_equal(from_seed, expanded).ok()?;
                expanded
            }
            (Some(from_seed), None) => from_seed.as_slice(),
            (None, expanded) => expanded.filter(|expanded| (self.passes_checks)(expanded))?,
        };
        let key = self.of.read(expanded).ok()?;
        let public = self.of.public_half(expanded)?.to_vec();
        if from_seed.is_none() {
            // The hash vouches for the public half alone.
            let (ciphertext, secret) = self.of.encapsulate(&public).ok()?;
            let found = kem::decapsulate(&key, self.of.reply_len(), &ciphertext).ok()?;
            verify_slices_are_equal(found.expose(), secret.expose()).ok()?;
        }
        Some((PrivateHalf::MlKem(key, self.of), public))
    }
}

/// ML-KEM-512-PrivateKey, ML-KEM-768-PrivateKey or ML-KEM-1024-PrivateKey (RFC 9935 §6).
struct MlKemPrivateKey<'a> {
    seed: Option<&'a [u8]>,
    expanded: Option<&'a [u8]>,
}

impl<'a> MlKemPrivateKey<'a> {
    fn read(der: &'a [u8]) -> der::Result<Self> {
        let choice = AnyRef::from_der(der)?;
        let (seed, expanded) = match choice.tag() {
            Tag::ContextSpecific { number: TagNumber(0), constructed: false } => {
                (Some(choice.value()), None)
            }
            Tag::OctetString => (None, Some(choice.value())),
            _ => {
                let mut both = SliceReader::new(key_info::contents(choice)?)?;
                let seed: &OctetStringRef = Decode::decode(&mut both)?;
                let expanded: &OctetStringRef = Decode::decode(&mut both)?;
                both.finish()?;
                (Some(seed.as_bytes()), Some(expanded.as_bytes()))
            }
        };
        Ok(Self { seed, expanded })
    }
}

/// Reads a CurvePrivateKey (RFC 8410 §7); returns it with its public half.
fn read_x25519(private: &[u8]) -> Result<(PrivateHalf, Vec<u8>), AgreementError> {
    let scalar: &OctetStringRef =
        Decode::from_der(private).map_err(|_| AgreementError::Provider)?;
    let key = dh::X25519.key_from_scalar(scalar.as_bytes())?;
    let public = dh::public_half(&key)?.as_ref().to_vec();
    Ok((PrivateHalf::X25519(key), public))
}
