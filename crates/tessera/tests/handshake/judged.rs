//! What the owner of a server learns of a resumption, and of a client without a name.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tessera::handshake::{Checked, ChooseConfig, ConfigChooser, NoConfig, Reply};
use tessera::resume::{AcceptResumption, ResumptionJudge, ResumptionVerdict};
use tessera::wire::{AlertDescription, ContentType, ExtensionType};
use tessera::{Error, ServerConfig};
use tessera_harness::{Hello, Mode, Scene, at, plain, records};

/// Records its questions.
#[derive(Default)]
struct RecordingJudge(Mutex<Vec<AcceptResumption>>);

impl ResumptionJudge for RecordingJudge {
    fn judge(&self, question: &AcceptResumption) -> Reply<ResumptionVerdict> {
        self.0.lock().expect("no thread panics").push(question.clone());
        Reply::Now(ResumptionVerdict::Accept)
    }
}

#[test]
fn a_judge_knows_the_mode_and_the_kind_of_early_data() {
    for (mode, without_key_exchange, early_data, replayable) in [
        (Mode::PskDhe, false, false, false),
        (Mode::PskOnly, true, false, false),
        (Mode::Replayable, false, true, true),
        (Mode::FsDhe, false, true, false),
        (Mode::FsKe, false, true, false),
        (Mode::FsPsk, false, true, false),
    ] {
        let mut scene = Scene::new(tessera_null_provider::provider(), mode);
        let judge = Arc::new(RecordingJudge::default());
        scene.server.judge = Some(judge.clone());
        let session = scene.session().expect("a session");
        let issued_at = Duration::from_millis(session.state.issued_at);
        scene.start(Some(session), at(1)).run();
        let asked = judge.0.lock().unwrap();
        let [asked] = asked.as_slice() else { panic!("{mode:?}: asked {} times", asked.len()) };
        assert_eq!(asked.without_key_exchange, without_key_exchange, "{mode:?}");
        assert_eq!(asked.early_data, early_data, "{mode:?}");
        assert_eq!(asked.replayable_early_data, replayable, "{mode:?}");
        assert_eq!(asked.issued_at, Some(issued_at), "{mode:?}");
    }
}

/// Has no configuration for any client.
struct EmptyChooser;

impl ConfigChooser for EmptyChooser {
    fn choose(&self, _: &ChooseConfig) -> Reply<Result<Checked<ServerConfig>, NoConfig>> {
        Reply::Now(Err(NoConfig))
    }
}

/// RFC 8446 §9.2
#[test]
fn a_client_without_a_name_learns_that_it_is_missing() {
    for (named, alert) in
        [(true, AlertDescription::UNRECOGNIZED_NAME), (false, AlertDescription::MISSING_EXTENSION)]
    {
        let mut scene = Scene::new(tessera_null_provider::provider(), Mode::Full);
        scene.server.chooser = Some(Arc::new(EmptyChooser));
        let mut pair = scene.pair();
        let mut hello = Hello::read(&records(&pair.intercept_client())[0][5..]);
        if !named {
            hello.remove(ExtensionType::SERVER_NAME);
        }
        pair.deliver_to_server(&plain(ContentType::HANDSHAKE, &hello.write()));
        let said = pair.to_server.error.as_ref().and_then(Error::alert);
        assert_eq!(said, Some(alert));
    }
}
