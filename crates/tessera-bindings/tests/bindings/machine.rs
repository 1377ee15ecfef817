//! Every order of steps, as far as it leads to new states.

use std::collections::HashSet;
use std::time::Duration;

use tessera_bindings::{
    Binding, BindingState, FailureCause, Fence, Generation, Import, LaterChanges, StepRefused,
};

use crate::world::{TIMES, import, proxy};

/// Everything that any process may try, in this generation, at this time.
fn all_steps(
    binding: &Binding,
    generation: Generation,
    now: Duration,
) -> Vec<(String, Result<Binding, StepRefused>)> {
    let mut steps = vec![
        ("announce".into(), binding.announce(generation, &TIMES, now)),
        ("abort".into(), binding.abort(generation)),
        ("settle".into(), binding.settle(generation, now)),
    ];
    for name in ["a", "b", "c"] {
        let by = proxy(name);
        let mut add = |step: &str, done| steps.push((format!("{step} {name}"), done));
        add("begin", binding.begin(&by, &TIMES, now));
        add("decline", binding.decline(generation, &by, "full"));
        for version in [0, binding.version, binding.version + 1] {
            add("prepared", binding.prepared(generation, &by, import(version)));
        }
        add("switch", binding.switch(generation, &by, &TIMES, now));
        add("promote", binding.promote(generation, &by, &TIMES, now));
        add("adopt", binding.adopt(generation, &by, now));
        for result in [LaterChanges::Arrived, LaterChanges::Lost] {
            add("changes", binding.changes(generation, &by, result));
        }
    }
    steps
}

/// What a proxy with this binding does must be clear: one owner, and an announced proxy that has all that was written before it
/// was announced.
fn check(before: &Binding, step: &str, after: &Binding) {
    let trace = || format!("{before:?}\n{step}\n{after:?}");
    assert!(after.generation >= before.generation, "{}", trace());
    assert!(after.version >= before.version, "{}", trace());
    assert!(after.fence() >= before.fence(), "{}", trace());
    if after.owner() != before.owner() {
        assert!(after.fence() > before.fence(), "the earlier owner isn't fenced off: {}", trace());
        let last = Fence::of_last_changes(after.generation);
        assert!(before.fence() < last && last < after.fence(), "{}", trace());
    }
    // An instance forgets nothing that it served for this owner, and all that it served for the one before.
    let forgetting = after.fence_of_forgetting();
    assert!(forgetting < after.fence(), "{}", trace());
    if after.owner() == before.owner() {
        assert_eq!(forgetting, before.fence_of_forgetting(), "{}", trace());
    } else {
        assert!(Fence::of_last_changes(after.generation) < forgetting, "{}", trace());
    }
    if let BindingState::Preparing { .. } = after.state {
        let first = Fence::of_first_import(after.generation);
        assert!(first < after.fence(), "an import replaces what the owner does: {}", trace());
        let last = Fence::of_last_changes(Generation(after.generation.0 - 1));
        assert!(last < first, "the next proxy may have been the owner before: {}", trace());
    }
    let takes = ["switch", "promote", "adopt"];
    if after.owner() != before.owner() {
        assert!(takes.iter().any(|take| step.starts_with(take)), "{}", trace());
        // A switch or a promotion ends the move that the proxy prepared for.
        let is_next = match &before.state {
            BindingState::Preparing { next, import, .. } => {
                import.is_some() && next == after.owner()
            }
            BindingState::Announced { next, .. } => next == after.owner(),
            _ => false,
        };
        assert!(is_next || step.starts_with("adopt"), "{}", trace());
    }
    match (&before.state, &after.state) {
        (BindingState::Preparing { import: Some(import), .. }, BindingState::Announced { .. }) => {
            // Later versions come with the changes.
            assert!(import.version <= before.version, "{}", trace());
        }
        (BindingState::Announced { import, .. }, BindingState::Switched { changes, .. }) => {
            assert_eq!(*changes == LaterChanges::Arrived, import.version == 0, "{}", trace());
        }
        (BindingState::Switched { changes, .. }, BindingState::Stable { .. })
            if !step.starts_with("adopt") =>
        {
            assert_ne!(*changes, LaterChanges::Awaited, "{}", trace());
        }
        (_, BindingState::Announced { .. }) => {
            assert!(matches!(before.state, BindingState::Announced { .. }), "{}", trace());
        }
        _ => (),
    }
}

/// Times are those of the last step, and a difference that matters: before and after all deadlines.
#[test]
fn every_order_of_steps_leaves_one_owner_who_has_what_it_needs() {
    let begin = Duration::from_secs(1_800_000_000);
    let mut seen = HashSet::new();
    let mut open = vec![(Binding::new(proxy("a"), begin), begin, 0)];
    let mut count = 0;
    while let Some((binding, now, depth)) = open.pop() {
        if depth == 6 || !seen.insert(format!("{binding:?} {now:?}")) {
            continue;
        }
        for now in [now, now + Duration::from_secs(61)] {
            let earlier = Generation(binding.generation.0 - 1);
            for (step, done) in all_steps(&binding, earlier, now) {
                // This belongs to no generation.
                if !step.starts_with("begin") {
                    // An adoption begins a generation itself: its owner may repeat it.
                    if step.starts_with("adopt") && done.as_ref() == Ok(&binding) {
                        let owner = format!("adopt {}", binding.owner());
                        let is_stable = matches!(binding.state, BindingState::Stable { .. });
                        assert!(is_stable && step == owner, "{step}: {binding:?}");
                        continue;
                    }
                    let current = StepRefused::OtherGeneration(binding.generation);
                    assert_eq!(done, Err(current), "{step} of an earlier generation: {binding:?}");
                }
            }
            for (step, done) in all_steps(&binding, binding.generation, now) {
                let Ok(after) = done else { continue };
                count += 1;
                check(&binding, &step, &after);
                let again = all_steps(&after, binding.generation, now);
                let mut again = again.into_iter().filter(|(other, _)| *other == step);
                let is_in_generation = after.generation == binding.generation;
                if is_in_generation || step.starts_with("adopt") {
                    // Several forms of a step have the same name.
                    assert!(again.any(|(_, it)| it.as_ref() == Ok(&after)), "{step}: {after:?}");
                }
                open.push((after, now, depth + 1));
            }
        }
    }
    assert!(count > 10_000, "{count}");
}

#[test]
fn a_step_that_does_not_fit_is_refused_with_the_reason() {
    let now = Duration::from_secs(1_800_000_000);
    let (a, b, c) = (proxy("a"), proxy("b"), proxy("c"));
    let bound = Binding::new(a.clone(), now);
    assert_eq!(bound.adopt(bound.generation, &a, now).as_ref(), Ok(&bound), "its own");
    let moving = bound.begin(&b, &TIMES, now).unwrap();
    let first = moving.generation;
    assert_eq!(moving.begin(&b, &TIMES, now).as_ref(), Ok(&moving), "the same target");
    assert_eq!(moving.begin(&c, &TIMES, now), Err(StepRefused::Moving(b.clone())));
    let reason = |done: Result<Binding, StepRefused>| done.unwrap_err().to_string();
    assert!(reason(moving.announce(first, &TIMES, now)).contains("hasn't imported"));
    assert!(reason(moving.prepared(first, &c, import(0))).contains("isn't moving to this proxy"));
    let prepared = moving.prepared(first, &b, import(7)).unwrap();
    assert_eq!(prepared.prepared(first, &b, import(6)), Err(StepRefused::OldVersion(7)));
    let announced = prepared.announce(first, &TIMES, now).unwrap();
    // What the owner changed after the import is under way at the switch.
    let switched = announced.switch(first, &b, &TIMES, now).unwrap();
    assert!(matches!(
        switched.state,
        BindingState::Switched { changes: LaterChanges::Awaited, .. }
    ));
    // Neither refusal names the other step.
    assert!(reason(switched.abort(first)).contains("once that move is over"));
    let refused = switched.begin(&a, &TIMES, now);
    assert_eq!(refused, Err(StepRefused::NotSettled(b.clone())));
    assert!(!reason(refused).contains("abort"));
    let late = now + TIMES.drain;
    assert!(reason(switched.settle(first, late)).contains("waits for changes"));
    let arrived = switched.changes(first, &b, LaterChanges::Arrived).unwrap();
    assert_eq!(arrived.changes(first, &b, LaterChanges::Lost).as_ref(), Ok(&arrived), "final");
    assert_eq!(arrived.settle(first, now), Err(StepRefused::TooSoon(TIMES.drain)));
    let settled = arrived.settle(first, late).unwrap();
    assert_eq!(settled.owner(), &b);
    // Back at once would be a storm.
    let back = settled.begin(&a, &TIMES, now + Duration::from_secs(1));
    assert_eq!(back, Err(StepRefused::TooSoon(TIMES.dwell - Duration::from_secs(1))));
    assert!(settled.begin(&a, &TIMES, now + TIMES.dwell).is_ok());
}

#[test]
fn a_move_that_is_given_up_has_its_reason_until_the_next_one_begins() {
    let now = Duration::from_secs(1_800_000_000);
    let (a, b, c) = (proxy("a"), proxy("b"), proxy("c"));
    let moving = Binding::new(a.clone(), now).begin(&b, &TIMES, now).unwrap();
    let number = moving.generation;
    assert!(moving.decline(number, &c, "").is_err(), "another proxy's preparation");
    let declined = moving.decline(number, &b, &"ä".repeat(999)).unwrap();
    assert_eq!(declined.state, BindingState::Stable { owner: a });
    let failure = declined.failure.clone().unwrap();
    assert_eq!((&failure.next, failure.cause), (&b, FailureCause::Declined));
    assert_eq!(failure.why.as_ref().unwrap().chars().count(), 200, "the entry stays small");
    assert_eq!(failure.to_string(), format!("b can't prepare: {}", "ä".repeat(200)));
    // Repeated, and what comes late.
    assert_eq!(declined.decline(number, &b, "").as_ref(), Ok(&declined));
    assert_eq!(declined.abort(number).as_ref(), Ok(&declined));
    assert!(declined.prepared(number, &b, import(0)).is_err());
    let aborted = moving.abort(number).unwrap();
    assert_eq!(aborted.failure.as_ref().unwrap().to_string(), "it was aborted");
    assert!(aborted.decline(number, &b, "").is_err(), "it was aborted, and not by b");
    let again = declined.begin(&b, &TIMES, now + TIMES.dwell).unwrap();
    assert_eq!(again.failure, None);
    let prepared = again.prepared(again.generation, &b, import(0)).unwrap();
    let announced = prepared.announce(again.generation, &TIMES, now).unwrap();
    assert!(announced.decline(again.generation, &b, "").is_err(), "the client may be on its way");
    assert_eq!(declined.adopt(number, &c, now).unwrap().failure, None);
}

#[test]
fn changes_are_awaited_if_the_next_proxy_keeps_state_even_if_there_was_none() {
    let now = Duration::from_secs(1_800_000_000);
    let (a, b) = (proxy("a"), proxy("b"));
    let moving = Binding::new(a, now).begin(&b, &TIMES, now).unwrap();
    let number = moving.generation;
    for (keeps_state, version, on_switch, on_promotion) in [
        (false, 0, LaterChanges::Arrived, LaterChanges::Arrived),
        (true, 0, LaterChanges::Awaited, LaterChanges::Lost),
        // As an earlier version wrote it.
        (false, 1, LaterChanges::Awaited, LaterChanges::Lost),
    ] {
        let import = Import { keeps_state, ..import(version) };
        let prepared = moving.prepared(number, &b, import).unwrap();
        let announced = prepared.announce(number, &TIMES, now).unwrap();
        let changes = |it: Result<Binding, StepRefused>| match it.unwrap().state {
            BindingState::Switched { changes, .. } => changes,
            other => panic!("{other:?}"),
        };
        assert_eq!(changes(announced.switch(number, &b, &TIMES, now)), on_switch);
        assert_eq!(changes(announced.promote(number, &b, &TIMES, now)), on_promotion);
    }
}
