//! The limits of a state, and what a request may change.

use super::*;

fn put(key: &str, value: &[u8]) -> Change {
    put_under(key, value, None)
}

fn put_under(key: &str, value: &[u8], lease: Option<LeaseId>) -> Change {
    Change::Put { key: key.into(), value: value.into(), lease }
}

fn delete(key: &str) -> Change {
    Change::Delete { key: key.into() }
}

fn commit(state: &mut State, changes: Vec<Change>) -> Result<Option<Revision>, StoreError> {
    state.commit(Transaction { conditions: Vec::new(), changes })
}

fn refused<T>(result: Result<T, StoreError>) -> String {
    match result {
        Err(StoreError::Refused(why)) => why,
        _ => String::new(),
    }
}

#[test]
fn a_commit_that_changes_nothing_has_no_revision_of_its_own() {
    let mut state = State::default();
    assert_eq!(commit(&mut state, vec![put("a", b"1")]), Ok(Some(Revision(1))));
    assert_eq!(commit(&mut state, vec![delete("b")]), Ok(Some(Revision(1))));
    assert_eq!(commit(&mut state, Vec::new()), Ok(Some(Revision(1))));
    assert_eq!(commit(&mut state, vec![put("a", b"1")]), Ok(Some(Revision(2))));
}

#[test]
fn a_full_store_refuses_what_makes_it_larger_and_accepts_the_rest() {
    let mut state = State::default();
    let large = vec![7; MAX_VALUE];
    let mut count = 0;
    let why = loop {
        let result = commit(&mut state, vec![put(&format!("k{count:02}"), &large)]);
        if result.is_err() {
            break refused(result);
        }
        count += 1;
    };
    assert!(why.contains("full") && why.contains("bytes"), "{why}");
    assert_eq!(state.entries.len(), MAX_BYTES / (MAX_VALUE + 3));
    assert!(state.bytes <= MAX_BYTES);
    // A transaction counts as a whole.
    let half = &large[..MAX_VALUE / 2];
    assert!(commit(&mut state, vec![put("half", half)]).is_ok());
    let two = [put("a", half), put("b", half)];
    assert!(refused(commit(&mut state, two.to_vec())).contains("full"));
    assert!(commit(&mut state, [&two[..], &[delete("k01")]].concat()).is_ok());
    let both = vec![put("new", &large), delete("k00")];
    assert!(commit(&mut state, both).is_ok_and(|done| done.is_some()));
    assert!(commit(&mut state, vec![put("new", b"small")]).is_ok());
    assert!(commit(&mut state, vec![put("k00", b"small")]).is_ok());
}

#[test]
fn entries_and_leases_have_a_limit_each() {
    let mut state = State::default();
    for number in 0..MAX_ENTRIES {
        assert!(commit(&mut state, vec![put(&number.to_string(), b"")]).is_ok());
        assert!(state.grant(1).is_ok());
    }
    assert!(refused(commit(&mut state, vec![put("one more", b"")])).contains("entries"));
    assert!(commit(&mut state, vec![put("7", b"again")]).is_ok());
    assert!(refused(state.grant(1)).contains("leases"));
    state.end_lease(3);
    assert!(state.grant(1).is_ok());
}

#[test]
fn a_request_that_breaks_a_limit_changes_nothing() {
    let mut state = State::default();
    assert!(commit(&mut state, vec![put("a", b"1")]).is_ok());
    let ended = Some(LeaseId("7".into()));
    let foreign = Some(LeaseId("from elsewhere".into()));
    for (bad, expected) in [
        (put("", b"1"), "a key is empty"),
        (put(&"k".repeat(MAX_KEY + 1), b"1"), "a key has 1025 bytes"),
        (put("k", &[0; MAX_VALUE + 1]), "a value has 1048577 bytes"),
        (put("a", b"3"), "two changes of the key a"),
        (delete("a"), "two changes"),
        (put_under("k", b"1", ended), "lease not found: 7"),
        (put_under("k", b"1", foreign), "lease not found"),
    ] {
        let why = refused(commit(&mut state, vec![put("a", b"2"), bad]));
        assert!(why.contains(expected), "{why}");
    }
    let many = (0..129).map(|number| put(&number.to_string(), b"1")).collect();
    assert!(refused(commit(&mut state, many)).contains("129 changes"));
    let large = [put("b", &[0; MAX_VALUE]), put("c", &[0; MAX_VALUE / 2])].into();
    assert!(refused(commit(&mut state, large)).contains("more than 1310720 bytes"));
    let [entry] = &state.read(b"").entries[..] else { unreachable!("one entry") };
    assert_eq!((&entry.value[..], state.revision), (&b"1"[..], 1));
}

#[test]
fn bytes_are_counted_right() {
    let mut state = State::default();
    let lease = state.grant(5).expect("room");
    let steps = [
        vec![put("a", b"123"), put_under("bb", b"1", Some(lease))],
        vec![put("a", b"1"), put("c", b"12345")],
        vec![delete("c")],
    ];
    for changes in steps {
        assert!(commit(&mut state, changes).is_ok());
        let entries = state.entries.iter();
        let bytes: usize = entries.map(|(key, entry)| key.len() + entry.value.len()).sum();
        assert_eq!(state.bytes, bytes);
    }
    state.end_lease(1);
    assert_eq!(state.bytes, 2);
}

#[test]
fn the_last_put_decides_the_lease() {
    let mut state = State::default();
    let (first, second) = (state.grant(5).expect("room"), state.grant(5).expect("room"));
    for lease in [Some(first), Some(second.clone()), None] {
        assert!(commit(&mut state, vec![put_under("a", b"1", lease)]).is_ok());
    }
    state.end_lease(1);
    state.end_lease(2);
    assert_eq!(state.entries.len(), 1);
    assert!(
        refused(commit(&mut state, vec![put_under("a", b"1", Some(second))])).contains("lease")
    );
}
