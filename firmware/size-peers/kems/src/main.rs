//! What KEMs take: instructions, and the deepest stack in bytes.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::boxed::Box;
use core::hint::black_box;

use cortex_m_rt::entry;
use cortex_m_semihosting::hprintln;
use size_peer_board::measure::Cost;
use size_peer_board::{board, finish, start};
use tessera_kem::reproduction::ExperimentalEncryptThenMacKey;
use tessera_kem::{
    DecapsulationKey, EncapsulationKey, Error, ExperimentalFoSkipKey, ExperimentalOneTimeKey,
};

#[entry]
fn main() -> ! {
    start();
    board::start_timer();
    let ours = ours::<2, 800, 768, 784>("ML-KEM-512")
        .and_then(|()| ours::<3, 1184, 1088, 1104>("ML-KEM-768"))
        .and_then(|()| ours::<4, 1568, 1568, 1584>("ML-KEM-1024"));
    let theirs = libcrux_512() & libcrux_768() & libcrux_1024();
    finish(matches!(ours, Ok(())) && theirs);
}

/// Measures the KEMs of a parameter set, with the lengths of its encapsulation keys, its ciphertexts, and those with a tag.
fn ours<const K: usize, const EK: usize, const CT: usize, const WITH_TAG: usize>(
    set: &str,
) -> Result<(), Error> {
    let of = |construction, operation| ["tessera-kem", set, construction, operation];
    let (seed, m) = (black_box([7; 64]), black_box([9; 32]));
    let (d, random) = (black_box([7; 32]), black_box([[9; 32], [3; 32]]));
    let (mut ek, mut c) = ([0; EK], [0; CT]);

    let key = print(of("ML-KEM", "key pair"), || DecapsulationKey::<K>::from_seed(&seed));
    key.encapsulation_key().write(&mut ek)?;
    let sent = print(of("ML-KEM", "encapsulate"), || {
        EncapsulationKey::<K>::new(&ek)?.encapsulate(&m, &mut c)
    })?;
    let received = print(of("ML-KEM", "decapsulate"), || key.decapsulate(&c))?;
    agree(sent.expose(), received.expose())?;

    let key = Box::new(ExperimentalFoSkipKey::<K>::generate(&d, &mut ek)?);
    let sent = EncapsulationKey::<K>::new(&ek)?.encapsulate(&m, &mut c)?;
    let received = print(of("FO-skip", "decapsulate"), || key.decapsulate_boxed(&c))?;
    agree(sent.expose(), received.expose())?;

    let key = print(of("T_H", "key pair"), || ExperimentalOneTimeKey::<K>::generate(&d, &mut ek))?;
    let key = Box::new(key);
    let sent = print(of("T_H", "encapsulate"), || {
        let public = EncapsulationKey::new(&ek)?;
        ExperimentalOneTimeKey::<K>::encapsulate(&public, &random, &mut c)
    })?;
    let received = print(of("T_H", "decapsulate"), || key.decapsulate_boxed(&c))?;
    agree(sent.expose(), received.expose())?;

    let mut c = [0; WITH_TAG];
    let key = ExperimentalEncryptThenMacKey::<K>::generate(&random, &mut ek)?;
    let sent = print(of("encrypt-then-MAC", "encapsulate"), || {
        let public = EncapsulationKey::new(&ek)?;
        ExperimentalEncryptThenMacKey::<K>::encapsulate(&public, &random, &mut c)
    })?;
    let received = print(of("encrypt-then-MAC", "decapsulate"), || key.decapsulate(&c))?;
    agree(sent.expose(), received.expose())
}

/// Fails if both ends don't have the same secret.
fn agree(sent: &[u8; 32], received: &[u8; 32]) -> Result<(), Error> {
    if sent == received { Ok(()) } else { Err(Error::SeedMismatch) }
}

/// Measures libcrux's portable code, which checks an encapsulation key (FIPS 203 §7.2) only if it is asked to, as ours always
/// does.
macro_rules! libcrux {
    ($name:ident, $module:ident, $set:literal) => {
        fn $name() -> bool {
            use libcrux_ml_kem::$module::portable;

            let of = |operation| ["libcrux", $set, "ML-KEM", operation];
            let key = print(of("key pair"), || portable::generate_key_pair(black_box([7; 64])));
            let (is_valid, (c, sent)) = print(of("encapsulate"), || {
                let is_valid = portable::validate_public_key(key.public_key());
                (is_valid, portable::encapsulate(key.public_key(), black_box([9; 32])))
            });
            let received =
                print(of("decapsulate"), || portable::decapsulate(key.private_key(), &c));
            is_valid && sent == received
        }
    };
}

libcrux!(libcrux_512, mlkem512, "ML-KEM-512");
libcrux!(libcrux_768, mlkem768, "ML-KEM-768");
libcrux!(libcrux_1024, mlkem1024, "ML-KEM-1024");

fn print<R>(
    [implementation, set, construction, operation]: [&str; 4],
    run: impl FnOnce() -> R,
) -> R {
    let mut cost = Cost { is_measured: true, ..Cost::default() };
    let result = cost.add(run);
    hprintln!(
        "kem {}|{}|{}|{} instructions {} stack {}",
        implementation,
        set,
        construction,
        operation,
        cost.instructions,
        cost.stack
    );
    result
}
