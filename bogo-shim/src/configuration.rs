//! Flags to configurations.

use std::collections::HashSet;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tessera::auth::{Credential, PrivateKey};
use tessera::crypto::{Provider, Signer, SigningError};
use tessera::handshake::ClientAuthentication;
use tessera::resume::{AlreadyUsed, ReplayGuard, SingleUseRegister};
use tessera::wire::{NamedGroup, SignatureScheme};
use tessera::{ClientConfig, ServerConfig};
use tessera_aws_lc::SigningKey;
use tessera_harness::UnsealedTickets;

use crate::flags::Options;
use crate::peer::AnyChain;

pub fn client(options: &Options) -> Result<ClientConfig, String> {
    let reject = options.verify_fail && options.verify_peer;
    let verifier = AnyChain::new(&options.verify_prefs, reject);
    let mut config = ClientConfig::new(provider(), Arc::new(verifier));
    groups(options, &mut config.groups);
    config.protocols = options.advertise_alpn.clone();
    config.credentials = credentials(options)?;
    config.policy.early_data.replayable_without_forward_secrecy = options.enable_early_data;
    config.policy.resumption = !options.no_ticket;
    Ok(config)
}

pub fn server(options: &Options, register: &Arc<Register>) -> Result<ServerConfig, String> {
    let mut config = ServerConfig::new(provider(), credentials(options)?);
    groups(options, &mut config.groups);
    config.protocols =
        options.select_alpn.iter().filter(|protocol| !protocol.is_empty()).cloned().collect();
    config.tickets = (!options.no_ticket).then(|| Arc::new(UnsealedTickets) as _);
    let verifier = Arc::new(AnyChain::new(&options.verify_prefs, options.verify_fail));
    config.client_authentication = if options.require_client_certificate {
        ClientAuthentication::Required(verifier)
    } else if options.verify_peer {
        ClientAuthentication::Optional(verifier)
    } else {
        ClientAuthentication::None
    };
    if options.enable_early_data {
        config.policy.early_data.replayable_without_forward_secrecy =
            Some(ReplayGuard { register: register.clone(), max_early_data_size: 14_336 });
    }
    Ok(config)
}

fn provider() -> Provider {
    tessera_aws_lc::provider()
}

fn groups(options: &Options, groups: &mut Vec<NamedGroup>) {
    if !options.curves.is_empty() {
        *groups = options.curves.iter().map(|group| NamedGroup(*group)).collect();
    }
}

fn credentials(options: &Options) -> Result<Vec<Credential>, String> {
    let (Some(chain), Some(key)) = (&options.cert_file, &options.key_file) else {
        return Ok(Vec::new());
    };
    let read = |path: &str| fs::read(path).map_err(|error| format!("{path}: {error}"));
    let chain = CertificateDer::pem_slice_iter(&read(chain)?)
        .map(|certificate| certificate.map(|der| der.to_vec()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("certificates: {error}"))?;
    let key =
        PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| format!("key: {error}"))?;
    let key = SigningKey::from_pkcs8(key.secret_der()).map_err(|error| format!("key: {error}"))?;
    let preferred = Preferring {
        schemes: match options.signing_prefs.as_slice() {
            [] => key.schemes().to_vec(),
            listed => {
                let listed = listed.iter().map(|scheme| SignatureScheme(*scheme));
                listed.filter(|scheme| key.schemes().contains(scheme)).collect()
            }
        },
        key,
    };
    Ok(vec![Credential::new(chain, PrivateKey::Here(Arc::new(preferred)))])
}

/// A key that signs with the schemes of `-signing-prefs`.
struct Preferring {
    key: SigningKey,
    schemes: Vec<SignatureScheme>,
}

impl Signer for Preferring {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        self.key.sign(scheme, message)
    }
}

/// A register for the life of the process.
#[derive(Default)]
pub struct Register(Mutex<HashSet<[u8; 32]>>);

impl SingleUseRegister for Register {
    fn claim(
        &self,
        key: &[u8; 32],
        _: Duration,
        _: Duration,
        _: Duration,
    ) -> Result<(), AlreadyUsed> {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        used.insert(*key).then_some(()).ok_or(AlreadyUsed)
    }
}
