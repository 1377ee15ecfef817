//! What the primitives of an image take.
#![no_std]
#![no_main]

extern crate alloc;

use core::hint::black_box;
use core::panic::PanicInfo;

use cortex_m_rt::entry;
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use cortex_m_semihosting::hprintln;
use tessera::crypto::{AgreementError, KeyAgreement, Nonce};
use tessera::wire::NamedGroup;
use tessera_firmware::board;
use tessera_firmware::measure::Cost;
use tessera_firmware::one_heap::OneHeap;
use tessera_firmware::random::PROVIDER;

#[global_allocator]
static HEAP: OneHeap = OneHeap::new();

#[entry]
fn main() -> ! {
    HEAP.start();
    board::start_timer();
    let result = run();
    if let Err(what) = result {
        hprintln!("{}", what);
    }
    loop {
        exit(if result.is_ok() { EXIT_SUCCESS } else { EXIT_FAILURE });
    }
}

/// In bytes.
const KILOBYTE: usize = 1024;

fn run() -> Result<(), &'static str> {
    let suite = PROVIDER.suites.first().ok_or("the provider has no suite")?;
    let data = black_box([7; KILOBYTE]);
    print("SHA-256, 1 KB", || suite.hash.hash(&data));
    print("HKDF-Expand-SHA-256, 32 bytes", || {
        let mut key = [0; 32];
        suite.hash.expand(&data[..32], b"info", &mut key);
        key
    });
    let key = print("ChaCha20-Poly1305, new key", || suite.aead.key(&data[..32]));
    let (nonce, header) = (Nonce([1; 12]), [0; 5]);
    let mut sealed = [0; KILOBYTE + 16];
    sealed[..KILOBYTE].copy_from_slice(&data);
    let (content, tag) = sealed.split_at_mut(KILOBYTE);
    tag.copy_from_slice(&print("ChaCha20-Poly1305 seal, 1 KB", || {
        key.seal(&nonce, &header, content)
    }));
    let opened = print("ChaCha20-Poly1305 open, 1 KB", || key.open(&nonce, &header, &mut sealed));
    opened.map_err(|_| "what was sealed does not open")?;
    for group in PROVIDER.groups {
        agree(*group).map_err(|_| "a key agreement fails")?;
    }
    #[cfg(feature = "p256")]
    signatures(&data)?;
    Ok(())
}

/// Measures the three parts of a key agreement. To generate a key of X25519 takes one multiplication, to answer one two.
fn agree(group: &dyn KeyAgreement) -> Result<(), AgreementError> {
    let [generate, encapsulate, decapsulate] = match group.group() {
        NamedGroup::X25519 => {
            ["X25519 key pair", "X25519 key pair and agreement", "X25519 agreement"]
        }
        NamedGroup::X25519MLKEM768 => {
            ["X25519MLKEM768 key pair", "X25519MLKEM768 encapsulate", "X25519MLKEM768 decapsulate"]
        }
        NamedGroup::MLKEM768 => {
            ["ML-KEM-768 key pair", "ML-KEM-768 encapsulate", "ML-KEM-768 decapsulate"]
        }
        _ => return Ok(()),
    };
    let key = print(generate, || group.generate())?;
    let (reply, _) = print(encapsulate, || group.encapsulate(key.share()))?;
    print(decapsulate, || key.decapsulate(&reply)).map(drop)
}

#[cfg(feature = "p256")]
fn signatures(message: &[u8]) -> Result<(), &'static str> {
    use tessera_firmware::chains::SIGNATURES;
    use tessera_rustcrypto::HANDSHAKE_ALGORITHMS;

    for chain in SIGNATURES {
        let signer = chain.signer().ok_or("a server's key can't be read")?;
        let (scheme, public_key) = (signer.schemes()[0], chain.public_key());
        let [sign, verify] = chain.keys.operations();
        let signature =
            print(sign, || signer.sign(scheme, message)).map_err(|_| "a key does not sign")?;
        let (_, algorithm) = HANDSHAKE_ALGORITHMS
            .iter()
            .find(|(it, _)| *it == scheme)
            .ok_or("the provider lacks the algorithm")?;
        print(verify, || algorithm.verify_signature(public_key, message, &signature))
            .map_err(|_| "a signature does not verify")?;
    }
    Ok(())
}

/// Measures an operation.
fn print<R>(name: &str, operation: impl FnOnce() -> R) -> R {
    let mut cost = Cost { is_measured: true, ..Cost::default() };
    let result = cost.add(operation);
    hprintln!("operation {} instructions {} stack {}", name, cost.instructions, cost.stack);
    result
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {
        exit(EXIT_FAILURE);
    }
}
