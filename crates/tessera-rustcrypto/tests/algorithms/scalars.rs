//! Scalars of P-256 are drawn until one fits.

use tessera::crypto::{AgreementError, RandomFailed};
use tessera::wire::NamedGroup;
use tessera_rustcrypto::RandomSource;

/// A source that repeats one byte.
struct Repeats<const BYTE: u8>;

impl<const BYTE: u8> RandomSource for Repeats<BYTE> {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        out.fill(BYTE);
        Ok(())
    }
}

/// A scalar of P-256 is drawn again if it is zero, or the order or more (FIPS 186-5 §A.2.2); a source that never has
/// another one must not hold the handshake.
#[test]
fn a_source_that_never_draws_a_scalar_fails() {
    for provider in [
        tessera_rustcrypto::provider::<Repeats<0>>(),
        tessera_rustcrypto::provider::<Repeats<255>>(),
    ] {
        let p256 = provider.group(NamedGroup::SECP256R1).unwrap();
        assert_eq!(p256.generate().map(|_| ()), Err(AgreementError::Provider));
    }
    let p256 = tessera_rustcrypto::provider::<Repeats<7>>().group(NamedGroup::SECP256R1).unwrap();
    assert!(p256.generate().is_ok());
}
