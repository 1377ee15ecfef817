//! Several sites that share a ring: each has its own vault, and none takes from another's.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tessera::crypto::KeyForm;
use tessera::handshake::Reply;
use tessera::resume::{
    Absence, FlightHandle, Incarnation, PutRefused, PutSecret, TakeAnswer, TakePurpose, TakeSecret,
    Vault,
};

/// The vault of one of several sites (docs/0rtt-fs.md, section 11).
///
/// Secrets are put into this site's own vault, the *home* of their flights, and a flight is accepted only
/// there. A flight that arrives at another site falls back to an ordinary resumption, and the take becomes a
/// request to *burn* the secret at home. The client gets the verdict `burned`, and may send its data again,
/// only when home has acknowledged that; without an acknowledgement in time it gets `unknown`.
///
/// For its own secrets it acts as the home vault. For others, [`take`](Vault::take) leaves the question for
/// later ([`Reply::Later`]), and the driver of the connection awaits [`take_from_afar`](Self::take_from_afar)
/// for the answer. The home vault may also leave a take for later; [`is_home`](Self::is_home) distinguishes
/// the two.
///
/// At home, [`burn_for_another`](Self::burn_for_another) carries out requests from the channel.
///
/// A receipt names no site (`SettleReceipt`): away from home it is `unknown`.
pub struct SiteVault {
    home: Arc<dyn Vault>,
    incarnation: Incarnation,
    sites: Arc<dyn SiteChannel>,
}

/// Carries requests from this site to others. `tessera-sites` implements it over mutual TLS; an owner can
/// implement it over another link between its sites.
///
/// A peer that can send such requests to a site can have keys burned there whose handles it knows, and one
/// that can forge an acknowledgement can make a client resend what was executed. So the channel MUST be
/// authenticated at both ends and integrity-protected, for example TLS with certificates on both sides. Its
/// content is confidential: it names sites and flights.
pub trait SiteChannel: Send + Sync {
    /// Requests [`SiteVault::burn_for_another`] at the site whose vault the request names, and returns the
    /// acknowledgement. `None` if there was none, or no such site; never a guess.
    ///
    /// The caller may give up and drop the future at any time; the request may still arrive afterwards. A
    /// late or repeated request does no harm. An acknowledgement is valid only for the request that it
    /// answers.
    fn burn_at_home(&self, request: &BurnAtHome) -> HomeAnswer;
}

/// The result of a [`SiteChannel`]: the acknowledgement, if there is one.
pub type HomeAnswer = Pin<Box<dyn Future<Output = Option<Acknowledgement>> + Send>>;

/// The request to burn a secret at the site that has it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BurnAtHome {
    /// The name of the flight that the secret is for.
    pub handle: FlightHandle,
    /// The vault that has it, and in which life.
    pub home: Incarnation,
}

/// A party that knows the handle can have the key burned, so keep it out of logs.
impl fmt::Debug for BurnAtHome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BurnAtHome").field("home", &self.home).finish_non_exhaustive()
    }
}

/// The answer of a secret's home to a burn request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acknowledgement {
    /// The secret is gone, now or since earlier, and no flight was or will be accepted with it.
    Burned,
    /// It was taken to accept a flight.
    Used,
    /// It ended with an earlier life of the vault, at least this long before the answer.
    Lost {
        /// As in [`Absence::Lost`].
        ended_before: Duration,
    },
    /// The home vault doesn't know, or is not available itself.
    Unknown,
}

/// The home vault has no [`Incarnation`], so that tickets can't name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoIncarnation;

impl fmt::Display for NoIncarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the vault has no incarnation, and several sites need to distinguish their vaults",
        )
    }
}

impl std::error::Error for NoIncarnation {}

impl SiteVault {
    /// Makes the vault of a site, named by the home vault's own incarnation.
    ///
    /// # Errors
    /// Returns [`NoIncarnation`] if it has none: see [`named`](Self::named).
    pub fn new(home: Arc<dyn Vault>, sites: Arc<dyn SiteChannel>) -> Result<Self, NoIncarnation> {
        let incarnation = home.incarnation().ok_or(NoIncarnation)?;
        Ok(Self { home, incarnation, sites })
    }

    /// Makes the vault of a site, named by its owner: random, never another vault's name, the same at all
    /// servers of the site. For a vault that outlives them, or ends with its one process.
    pub fn named(home: Arc<dyn Vault>, name: [u8; 16], sites: Arc<dyn SiteChannel>) -> Self {
        let incarnation = Incarnation { vault: name, number: 0 };
        Self { home, incarnation, sites }
    }

    /// Returns whether this site's own vault must answer. It also answers if a ticket names no vault: it
    /// returns only its own secrets.
    pub fn is_home(&self, question: &TakeSecret) -> bool {
        question.incarnation.is_none_or(|of_secret| of_secret.vault == self.incarnation.vault)
    }

    /// Answers a question for another site's vault: has the secret burned there, and waits for the
    /// acknowledgement. Never returns [`TakeAnswer::Taken`].
    ///
    /// There is no time-out here: the caller decides how long to wait, because the client waits meanwhile,
    /// and then answers [`TakeAnswer::Unavailable`]. With tokio that is
    /// `timeout(patience, site.take_from_afar(&question))`.
    pub fn take_from_afar(
        &self,
        question: &TakeSecret,
    ) -> impl Future<Output = TakeAnswer> + Send + use<> {
        let home = question.incarnation.filter(|_| !self.is_home(question));
        let request = home.map(|home| BurnAtHome::new(question.handle, home));
        let answer = request.map(|request| self.sites.burn_at_home(&request));
        async {
            match answer {
                // The request may have arrived, or may still arrive: it is unknown whether the secret exists.
                Some(answer) => {
                    answer.await.map_or(TakeAnswer::Unavailable, Acknowledgement::to_taken)
                }
                None => TakeAnswer::Unavailable,
            }
        }
    }

    /// Burns a secret of this site, because another site was asked to accept its flight. The secret itself is
    /// not sent. If the home vault answers later, its owner asks it [`BurnAtHome::question`] and converts the
    /// answer with [`Acknowledgement::of`].
    ///
    /// Only for requests from an authenticated channel; see [`SiteChannel`].
    pub fn burn_for_another(
        &self,
        request: &BurnAtHome,
        unix: Option<Duration>,
    ) -> Reply<Acknowledgement> {
        if request.home.vault != self.incarnation.vault {
            return Reply::Now(Acknowledgement::Unknown);
        }
        match self.home.take(&request.question(unix)) {
            Reply::Now(taken) => Reply::Now(Acknowledgement::of(&taken)),
            Reply::Later => Reply::Later,
        }
    }
}

impl BurnAtHome {
    /// Makes a request as received from the channel.
    pub fn new(handle: FlightHandle, home: Incarnation) -> Self {
        Self { handle, home }
    }

    /// Returns the question for the home vault.
    pub fn question(&self, unix: Option<Duration>) -> TakeSecret {
        let mut question = TakeSecret::new(self.handle, TakePurpose::Burn, unix);
        question.incarnation = Some(self.home);
        question
    }
}

impl Acknowledgement {
    /// Converts the home vault's answer to a take with the purpose [`Burn`](TakePurpose::Burn).
    pub fn of(taken: &TakeAnswer) -> Self {
        match taken {
            TakeAnswer::Taken(_) | TakeAnswer::Absent(Absence::Burned) => Self::Burned,
            TakeAnswer::Absent(Absence::Used) => Self::Used,
            TakeAnswer::Absent(Absence::Lost { ended_before }) => {
                Self::Lost { ended_before: *ended_before }
            }
            // As are outcomes that a later version may add.
            _ => Self::Unknown,
        }
    }

    /// Converts to what the asking site reports to its own client.
    fn to_taken(self) -> TakeAnswer {
        TakeAnswer::Absent(match self {
            Self::Burned => Absence::Burned,
            Self::Used => Absence::Used,
            Self::Lost { ended_before } => Absence::Lost { ended_before },
            Self::Unknown => Absence::Unknown,
        })
    }
}

impl Vault for SiteVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.home.put(put)
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        if self.is_home(question) { self.home.take(question) } else { Reply::Later }
    }

    fn burn(&self, handle: &FlightHandle) {
        self.home.burn(handle);
    }

    fn key_form(&self) -> KeyForm {
        self.home.key_form()
    }

    fn incarnation(&self) -> Option<Incarnation> {
        Some(self.incarnation)
    }

    fn len(&self) -> usize {
        self.home.len()
    }
}
