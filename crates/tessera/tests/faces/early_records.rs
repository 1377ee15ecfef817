//! The count of early records (docs/0rtt-fs.md §16) of a server that lies.

use tessera::Error;
use tessera::face::Profile;
use tessera::wire::AlertDescription;
use tessera_harness::{ANOTHER, EARLY_DATA, End, Face, Mode, Pair, Scene, at, to};
use tessera_null_provider::provider;

static COUNTED: Profile = Profile { counts_early_records: true, ..ANOTHER };

#[test]
fn a_count_of_more_early_records_than_were_sent_is_refused() {
    for (taken, alert) in [(1, None), (2, Some(AlertDescription::ILLEGAL_PARAMETER))] {
        let scene = Scene::new(provider(), Mode::FsDhe);
        let connect = |session| {
            let face = Face::Messages(&COUNTED);
            Pair::start_over(face, &scene.client, &scene.server, to(session), at(0))
                .expect("starts")
        };
        let mut first = connect(None);
        let session = first.run().to_client.sessions.pop();
        let mut pair = connect(session);
        let written = pair.client.write_early_data(EARLY_DATA, &mut pair.client_output);
        assert_eq!(written, Ok(EARLY_DATA.len()));
        let End::Messages(server) = &mut pair.server else { panic!("over messages") };
        server.report_early_records(taken);
        pair.run();
        assert_eq!(pair.to_client.error.as_ref().and_then(Error::alert), alert, "{taken}");
        let reported = pair.client.facts().early_records_taken;
        assert_eq!(reported, alert.is_none().then_some(taken));
    }
}
