//! The register: a ticket is accepted once while it is valid, and refused when in doubt.

use std::time::Duration;

use tessera::resume::{AlreadyUsed, SingleUseRegister};
use tessera_vault::MemoryRegister;
use tessera_vault::contract::{handle, race};

const START: Duration = Duration::from_secs(1_800_000_000);
const SECOND: Duration = Duration::from_secs(1);

fn after(seconds: u32) -> Duration {
    START + SECOND * seconds
}

/// Claims a ticket that was issued a second after the start and lives until 100 seconds after it.
fn claim(register: &MemoryRegister, number: u32, now: Duration) -> Result<(), AlreadyUsed> {
    register.claim(&handle(number).0, after(1), after(100), now)
}

#[test]
fn a_register_accepts_a_ticket_once() {
    let register = MemoryRegister::new(10, START);
    assert!(register.is_empty());
    assert_eq!(claim(&register, 1, after(2)), Ok(()));
    assert_eq!(claim(&register, 1, after(2)), Err(AlreadyUsed));
    assert_eq!(claim(&register, 1, after(99)), Err(AlreadyUsed));
    assert_eq!(claim(&register, 2, after(3)), Ok(()));
    assert_eq!(register.len(), 2);
    assert!(!register.is_empty());
}

#[test]
fn one_of_many_claims_at_once_wins_in_a_register() {
    let register = MemoryRegister::new(100, START);
    for number in 0..20 {
        let results = race(64, |_| claim(&register, number, after(2)));
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    }
}

#[test]
fn a_register_refuses_tickets_that_an_earlier_life_may_have_seen() {
    let register = MemoryRegister::new(10, START);
    for issued_at in [Duration::ZERO, START - Duration::from_millis(1), START] {
        let claimed = register.claim(&handle(1).0, issued_at, after(100), after(2));
        assert_eq!(claimed, Err(AlreadyUsed));
    }
    let just_after = START + Duration::from_millis(1);
    assert_eq!(register.claim(&handle(1).0, just_after, after(100), after(2)), Ok(()));
}

#[test]
fn a_register_refuses_tickets_from_the_future() {
    let register = MemoryRegister::new(10, START);
    assert_eq!(register.claim(&handle(1).0, after(3), after(100), after(2)), Err(AlreadyUsed));
    assert_eq!(register.claim(&handle(1).0, after(3), after(100), after(3)), Ok(()));
}

#[test]
fn a_full_register_refuses_until_something_expires() {
    let register = MemoryRegister::new(3, START);
    for number in 0..3 {
        assert_eq!(claim(&register, number, after(2)), Ok(()));
    }
    let longer = |number, now| register.claim(&handle(number).0, after(1), after(200), now);
    assert_eq!(longer(3, after(99)), Err(AlreadyUsed));
    assert_eq!(longer(3, after(100)), Ok(()));
    assert_eq!(register.len(), 1);
    assert_eq!(longer(3, after(101)), Err(AlreadyUsed));

    let without_room = MemoryRegister::new(0, START);
    assert_eq!(claim(&without_room, 1, after(2)), Err(AlreadyUsed));
}

#[test]
fn a_register_refuses_expired_tickets() {
    let register = MemoryRegister::new(10, START);
    assert_eq!(claim(&register, 1, after(100)), Err(AlreadyUsed));
    assert_eq!(claim(&register, 1, after(1000)), Err(AlreadyUsed));
    assert!(register.is_empty());
}

#[test]
fn a_register_refuses_forgotten_tickets_when_the_clock_goes_back() {
    let register = MemoryRegister::new(10, START);
    assert_eq!(claim(&register, 1, after(2)), Ok(()));
    let _ = claim(&register, 2, after(5000));
    assert!(register.is_empty());
    assert_eq!(claim(&register, 1, after(3)), Err(AlreadyUsed));
    // It may have been claimed as well and forgotten, as far as the register knows.
    assert_eq!(claim(&register, 3, after(3)), Err(AlreadyUsed));
    // The jump does not close the register for longer than the tickets lived.
    assert_eq!(register.claim(&handle(4).0, after(4), after(101), after(5)), Ok(()));
}

#[test]
fn a_register_accepts_none_of_many_tickets_twice() {
    let register = MemoryRegister::new(100_000, START);
    let claimed = (0..90_000).filter(|number| claim(&register, *number, after(2)).is_ok()).count();
    assert_eq!(claimed, register.len());
    assert!(claimed > 89_000, "{claimed}");
    assert!((0..90_000).all(|number| claim(&register, number, after(3)).is_err()));
    assert!((90_000..200_000).any(|number| claim(&register, number, after(3)).is_err()));
    assert!(register.len() <= 100_000);
}
