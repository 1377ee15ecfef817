//! Several sites that share a ring: each has a vault of its own, and none takes from another's.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tessera::crypto::KeyForm;
use tessera::handshake::Reply;
use tessera::resume::{
    Absent, FlightHandle, Incarnation, PutRefused, PutSecret, TakePurpose, TakeSecret, Taken, Vault,
};

/// The vault of one site of several (docs/0rtt-fs.md, section 11).
///
/// Secrets are put into this site's own vault, the *home* of their flights, and only there a flight
/// is accepted. A flight that comes to another site falls back to an ordinary resumption, and there
/// the take becomes a request to *burn* the secret at home. Only when home has acknowledged that, the
/// client is told `burned`, and may send its data again; without an acknowledgement in time it is
/// told `unknown`.
///
/// For secrets of its own site it is the home vault. For others, [`take`](Vault::take) leaves the
/// question for later ([`Reply::Later`]), and whoever drives the connection awaits
/// [`take_from_afar`](Self::take_from_afar) for the answer. A take of this site's own can also be left
/// for later, by the home vault; [`is_home`](Self::is_home) tells the two apart.
///
/// At home, [`burn_for_another`](Self::burn_for_another) carries out what comes over the channel.
///
/// A receipt names no site (`SettleReceipt`): asked for away from home it is `unknown`.
pub struct SiteVault {
    home: Arc<dyn Vault>,
    incarnation: Incarnation,
    sites: Arc<dyn SiteChannel>,
}

/// Carries requests from this site to others. `tessera-sites` has one over mutual TLS; an owner can make
/// another, of what joins its sites.
///
/// Whoever can send such a request to a site can have keys burned there, of which it knows the handle,
/// and whoever can forge an acknowledgement can make a client send again what was executed. So the
/// channel MUST be authenticated at both ends and protected against change, for example TLS with
/// certificates on both sides. What it carries is confidential: it names sites and flights.
pub trait SiteChannel: Send + Sync {
    /// Has [`SiteVault::burn_for_another`] called at the site whose vault the request names, and
    /// returns the acknowledgement. `None` if there was none, or no such site: never because of a
    /// guess.
    ///
    /// The caller may give up and drop the future at any time; the request may still arrive
    /// afterwards. A request that arrives late, or twice, does no harm. An acknowledgement counts only
    /// for the request that it answers.
    fn burn_at_home(&self, request: &BurnAtHome) -> AnswerFromHome;
}

/// What a [`SiteChannel`] brings back: the acknowledgement, if there is one.
pub type AnswerFromHome = Pin<Box<dyn Future<Output = Option<Acknowledgement>> + Send>>;

/// The request to burn a secret at the site that has it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BurnAtHome {
    /// The name of the flight that the secret is for.
    pub handle: FlightHandle,
    /// Which vault has it, in which life.
    pub home: Incarnation,
}

/// A party that knows the handle can have the key burned; it is not for logs.
impl fmt::Debug for BurnAtHome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BurnAtHome").field("home", &self.home).finish_non_exhaustive()
    }
}

/// What a secret's home answers when it was to burn it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acknowledgement {
    /// The secret is gone, now or since earlier, and nobody accepted a flight with it or ever will.
    Burned,
    /// It was taken to accept a flight.
    Used,
    /// It ended with an earlier life of the vault, at least this long before the answer.
    Lost {
        /// As in [`Absent::Lost`].
        ended_before: Duration,
    },
    /// The home vault doesn't know, or is not available itself.
    Unknown,
}

/// The home vault has no [`Incarnation`], so that no ticket could tell whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoIncarnation;

impl fmt::Display for NoIncarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the vault has no incarnation, and several sites need to tell their vaults apart",
        )
    }
}

impl std::error::Error for NoIncarnation {}

impl SiteVault {
    /// The vault of a site, by the incarnation that it has itself.
    ///
    /// # Errors
    /// [`NoIncarnation`], if it has none: see [`named`](Self::named).
    pub fn new(home: Arc<dyn Vault>, sites: Arc<dyn SiteChannel>) -> Result<Self, NoIncarnation> {
        let incarnation = home.incarnation().ok_or(NoIncarnation)?;
        Ok(Self { home, incarnation, sites })
    }

    /// The vault of a site, by a name that the owner gives to it: random, no other vault's ever, the same
    /// at all servers of the site. For a vault that outlives them, or ends with its one process.
    pub fn named(home: Arc<dyn Vault>, name: [u8; 16], sites: Arc<dyn SiteChannel>) -> Self {
        let incarnation = Incarnation { vault: name, number: 0 };
        Self { home, incarnation, sites }
    }

    /// Whether this site's own vault is the one to answer. It also answers where a ticket doesn't say
    /// whose it is: it gives out nothing but its own.
    pub fn is_home(&self, question: &TakeSecret) -> bool {
        question.incarnation.is_none_or(|of_secret| of_secret.vault == self.incarnation.vault)
    }

    /// Answers a question that another site's vault has to answer: has the secret burned there, and
    /// waits for the acknowledgement. It never is [`Taken::Taken`].
    ///
    /// Nothing here knows a clock, so whoever awaits it decides for how long, and answers
    /// [`Taken::Unavailable`] afterwards: the client waits meanwhile. With tokio that is
    /// `timeout(patience, site.take_from_afar(&question))`.
    pub fn take_from_afar(
        &self,
        question: &TakeSecret,
    ) -> impl Future<Output = Taken> + Send + use<> {
        let home = question.incarnation.filter(|_| !self.is_home(question));
        let request = home.map(|home| BurnAtHome::new(question.handle, home));
        let answer = request.map(|request| self.sites.burn_at_home(&request));
        async {
            match answer {
                // The request may have arrived, or may still arrive: it is unknown whether the secret exists.
                Some(answer) => answer.await.map_or(Taken::Unavailable, Acknowledgement::to_taken),
                None => Taken::Unavailable,
            }
        }
    }

    /// Burns a secret of this site, because another site was asked to accept its flight. The secret
    /// itself goes nowhere. A home vault that answers later is asked [`BurnAtHome::question`] by its
    /// owner, and [`Acknowledgement::of`] makes the answer.
    ///
    /// Only for requests that came over an authenticated channel; see [`SiteChannel`].
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
    /// A request as it came over the channel.
    pub fn new(handle: FlightHandle, home: Incarnation) -> Self {
        Self { handle, home }
    }

    /// The question for the home vault.
    pub fn question(&self, unix: Option<Duration>) -> TakeSecret {
        let mut question = TakeSecret::new(self.handle, TakePurpose::Burn, unix);
        question.incarnation = Some(self.home);
        question
    }
}

impl Acknowledgement {
    /// The acknowledgement of what the home vault answered to a take with the purpose
    /// [`Burn`](TakePurpose::Burn).
    pub fn of(taken: &Taken) -> Self {
        match taken {
            Taken::Taken(_) | Taken::Absent(Absent::Burned) => Self::Burned,
            Taken::Absent(Absent::Used) => Self::Used,
            Taken::Absent(Absent::Lost { ended_before }) => {
                Self::Lost { ended_before: *ended_before }
            }
            // So is what a later version may say.
            _ => Self::Unknown,
        }
    }

    /// What the site that asked reports to its own client.
    fn to_taken(self) -> Taken {
        Taken::Absent(match self {
            Self::Burned => Absent::Burned,
            Self::Used => Absent::Used,
            Self::Lost { ended_before } => Absent::Lost { ended_before },
            Self::Unknown => Absent::Unknown,
        })
    }
}

impl Vault for SiteVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.home.put(put)
    }

    fn take(&self, question: &TakeSecret) -> Reply<Taken> {
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
