//! An operation of `tessera-kem` between two markers, with the secrets of a case: the emulator's command line is OPERATION,
//! RANK and CASE. `scripts/kem-traces` compares which branches the cases take.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::arch::asm;
use core::hint::black_box;
use core::panic::PanicInfo;

use cortex_m_rt::entry;
use cortex_m_semihosting::debug::{EXIT_FAILURE, EXIT_SUCCESS, exit};
use cortex_m_semihosting::nr::GET_CMDLINE;
use cortex_m_semihosting::{hprintln, syscall1};
use tessera_firmware::one_heap::OneHeap;
use tessera_kem::reproduction::{ExperimentalAsCodedKey, ExperimentalEncryptThenMacKey, TAG_LEN};
use tessera_kem::{
    DecapsulationKey, EncapsulationKey, Error, ExperimentalFoSkipKey, ExperimentalOneTimeKey,
    SharedSecret,
};

#[global_allocator]
static HEAP: OneHeap = OneHeap::new();

#[entry]
fn main() -> ! {
    HEAP.start();
    let result = run();
    if let Err(what) = result {
        hprintln!("{}", what);
    }
    loop {
        exit(if result.is_ok() { EXIT_SUCCESS } else { EXIT_FAILURE });
    }
}

/// What differs between runs: secrets, and ciphertexts, valid or not.
struct Case {
    /// Whose private key it is.
    key: u8,
    message: [u8; 32],
    /// Which byte of the ciphertext is changed.
    changed: Option<Place>,
}

enum Place {
    First,
    Last,
}

const CASES: [Case; 6] = [
    Case { key: 0, message: [0; 32], changed: None },
    Case { key: 0, message: [0xff; 32], changed: None },
    Case { key: 0, message: [0xb7; 32], changed: Some(Place::First) },
    Case { key: 0, message: [0x5a; 32], changed: Some(Place::Last) },
    Case { key: 1, message: [1; 32], changed: None },
    Case { key: 2, message: [0x80; 32], changed: None },
];

fn run() -> Result<(), &'static str> {
    let line = command_line()?;
    let mut words = line.split_ascii_whitespace();
    let (operation, rank, case) = (words.next(), words.next(), words.next());
    let operation = operation.ok_or("no operation")?;
    let case =
        case.and_then(|case| CASES.get(case.parse::<usize>().ok()?)).ok_or("no such case")?;
    match rank {
        Some("2") => run_with::<2>(operation, case),
        Some("3") => run_with::<3>(operation, case),
        Some("4") => run_with::<4>(operation, case),
        _ => Err("no such rank"),
    }
}

fn run_with<const K: usize>(operation: &str, case: &Case) -> Result<(), &'static str> {
    let done = match operation {
        "encapsulate" => encapsulate::<K>(case),
        "decapsulate" => decapsulate::<K>(case, false),
        "leaky" => decapsulate::<K>(case, true),
        "t-h" => t_h::<K>(case),
        "fo-skip" => fo_skip::<K>(case),
        "as-coded" => as_coded::<K>(case),
        "encrypt-then-mac" => encrypt_then_mac::<K>(case),
        _ => return Err("no such operation"),
    };
    match done {
        Ok(true) => Ok(()),
        Ok(false) => Err("the secret is not what the case should have"),
        Err(_) => Err("an input is refused"),
    }
}

/// Only the message differs.
fn encapsulate<const K: usize>(case: &Case) -> Result<bool, Error> {
    let public = EncapsulationKey::<K>::new(&write(&full_key::<K>(0))?)?;
    let mut ciphertext = vec![0; EncapsulationKey::<K>::CIPHERTEXT_LEN];
    let m = case.message;
    let secret = traced(|| public.encapsulate(&m, &mut ciphertext))?;
    Ok(*full_key::<K>(0).decapsulate(&ciphertext)?.expose() == *secret.expose())
}

/// The encapsulation key is always the same, since the matrix is sampled in a time that depends on it. With another key's
/// private half and z, every ciphertext is rejected.
fn decapsulate<const K: usize>(case: &Case, is_leaky: bool) -> Result<bool, Error> {
    let public = full_key::<K>(0);
    let mut ciphertext = vec![0; EncapsulationKey::<K>::CIPHERTEXT_LEN];
    let secret = public.encapsulation_key().encapsulate(&case.message, &mut ciphertext)?;
    let original = ciphertext.clone();
    change(case, &mut ciphertext);

    let mut expanded = vec![0; DecapsulationKey::<K>::EXPANDED_LEN];
    full_key::<K>(case.key).write_expanded(&mut expanded)?;
    let mut other = expanded.clone();
    public.write_expanded(&mut other)?;
    let public_part = 384 * K..expanded.len() - 32;
    expanded[public_part.clone()].copy_from_slice(&other[public_part]);
    let key = DecapsulationKey::<K>::from_expanded(&expanded)?;

    let opened = traced(|| {
        if is_leaky {
            black_box(is_same(&ciphertext, &original));
        }
        key.decapsulate(&ciphertext)
    })?;
    let is_valid = case.key == 0 && case.changed.is_none();
    Ok((*opened.expose() == *secret.expose()) == is_valid)
}

/// Compares as no decapsulation may: it ends at the first difference.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.iter().zip(b).all(|(a, b)| black_box(a) == black_box(b))
}

fn t_h<const K: usize>(case: &Case) -> Result<bool, Error> {
    let mut public = vec![0; EncapsulationKey::<K>::LEN];
    let key = ExperimentalOneTimeKey::<K>::generate(&seed(case.key), &mut public)?;
    let random = [case.message, [3; 32]];
    open::<K>(
        case,
        &public,
        0,
        |public, ciphertext| ExperimentalOneTimeKey::encapsulate(public, &random, ciphertext),
        |ciphertext| key.decapsulate(ciphertext),
    )
}

/// The changed byte is noise that K-PKE corrects, or not: the secret may be the same.
fn fo_skip<const K: usize>(case: &Case) -> Result<bool, Error> {
    let mut public = vec![0; EncapsulationKey::<K>::LEN];
    let key = ExperimentalFoSkipKey::<K>::generate(&seed(case.key), &mut public)?;
    let m = case.message;
    let is_same = open::<K>(
        case,
        &public,
        0,
        |public, ciphertext| public.encapsulate(&m, ciphertext),
        |ciphertext| key.decapsulate(ciphertext),
    )?;
    Ok(is_same || case.changed.is_some())
}

fn as_coded<const K: usize>(case: &Case) -> Result<bool, Error> {
    let mut public = vec![0; EncapsulationKey::<K>::LEN];
    let key = ExperimentalAsCodedKey::<K>::generate(&seed(case.key), &mut public)?;
    let coins = case.message;
    open::<K>(
        case,
        &public,
        0,
        |public, ciphertext| ExperimentalAsCodedKey::encapsulate(public, &coins, ciphertext),
        |ciphertext| key.decapsulate(ciphertext),
    )
}

fn encrypt_then_mac<const K: usize>(case: &Case) -> Result<bool, Error> {
    let mut public = vec![0; EncapsulationKey::<K>::LEN];
    let seeds = [seed(case.key), [case.key + 9; 32]];
    let key = ExperimentalEncryptThenMacKey::<K>::generate(&seeds, &mut public)?;
    let random = [case.message, [3; 32]];
    open::<K>(
        case,
        &public,
        TAG_LEN,
        |public, ciphertext| {
            ExperimentalEncryptThenMacKey::encapsulate(public, &random, ciphertext)
        },
        |ciphertext| key.decapsulate(ciphertext),
    )
}

/// Opens the ciphertext of a case with a one-time key. Returns whether the secret is the encapsulated one where nothing is
/// changed, and another one where something is.
fn open<const K: usize>(
    case: &Case,
    public: &[u8],
    tag_len: usize,
    encapsulate: impl FnOnce(&EncapsulationKey<K>, &mut [u8]) -> Result<SharedSecret, Error>,
    decapsulate: impl FnOnce(&[u8]) -> Result<SharedSecret, Error>,
) -> Result<bool, Error> {
    let mut ciphertext = vec![0; EncapsulationKey::<K>::CIPHERTEXT_LEN + tag_len];
    let secret = encapsulate(&EncapsulationKey::new(public)?, &mut ciphertext)?;
    change(case, &mut ciphertext);
    let opened = traced(|| decapsulate(&ciphertext))?;
    Ok((*opened.expose() == *secret.expose()) == case.changed.is_none())
}

fn full_key<const K: usize>(n: u8) -> DecapsulationKey<K> {
    let mut both = [n + 9; 64];
    both[..32].copy_from_slice(&seed(n));
    DecapsulationKey::from_seed(&both)
}

fn write<const K: usize>(key: &DecapsulationKey<K>) -> Result<Vec<u8>, Error> {
    let mut public = vec![0; EncapsulationKey::<K>::LEN];
    key.encapsulation_key().write(&mut public)?;
    Ok(public)
}

fn seed(n: u8) -> [u8; 32] {
    [n + 1; 32]
}

fn change(case: &Case, ciphertext: &mut [u8]) {
    let byte = match case.changed {
        None => None,
        Some(Place::First) => ciphertext.first_mut(),
        Some(Place::Last) => ciphertext.last_mut(),
    };
    if let Some(byte) = byte {
        *byte ^= 0x80;
    }
}

/// Runs an operation between the markers.
#[inline(never)]
fn traced<R>(operation: impl FnOnce() -> R) -> R {
    trace_begin();
    let result = black_box(operation());
    trace_end();
    result
}

// Different, since the linker folds equal functions.

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn trace_begin() {
    // SAFETY: does nothing.
    unsafe { asm!("nop") };
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn trace_end() {
    // SAFETY: does nothing.
    unsafe { asm!("nop", "nop") };
}

/// What `-semihosting-config arg=` has, joined by spaces.
fn command_line() -> Result<String, &'static str> {
    let mut line = vec![0u8; 256];
    let mut block = [line.as_mut_ptr() as usize, line.len()];
    // SAFETY: the emulator writes a string of at most so many bytes, and its length.
    let failed = unsafe { syscall1(GET_CMDLINE, block.as_mut_ptr() as usize) };
    let length = black_box(block[1]);
    if failed != 0 {
        return Err("no command line");
    }
    line.truncate(length);
    String::from_utf8(line).map_err(|_| "the command line is not text")
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {
        exit(EXIT_FAILURE);
    }
}
