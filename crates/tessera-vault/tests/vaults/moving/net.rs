//! Three sites, and what is between them.

use std::future::ready;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tessera::crypto::Provider;
use tessera::handshake::Reply;
use tessera::resume::{Absence, TakeAnswer, TakePurpose, TakeSecret, Vault};
use tessera_vault::contract::{LIFETIME, NOW, handle, question, secret};
use tessera_vault::{
    ArrivalRefused, BurnAtHome, BurnMoved, CarryAnswer, Departure, HomeAnswer, LifeAnswer,
    MemoryVault, MovedSecret, MovingVault, SiteChannel, SiteVault, VaultLife,
};

pub const CLIENT: &[u8] = b"drone";

/// Three sites, and what is between them.
pub struct Net(pub Arc<Mutex<Between>>);

pub struct Between {
    pub sites: Vec<Arc<SiteVault>>,
    /// Every secret that was ever sent.
    pub sent: Vec<(u32, Departure)>,
    /// Whether secrets arrive by themselves.
    pub delivers: bool,
    /// Loses requests or their answers.
    pub loses: Option<Dice>,
}

/// Random numbers that are the same each time.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        // Knuth's MMIX.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// The end of one site.
pub struct Wire(pub Arc<Mutex<Between>>);

impl Net {
    pub fn new() -> Self {
        let (sites, sent, loses) = (Vec::new(), Vec::new(), None);
        let net = Self(Arc::new(Mutex::new(Between { sites, sent, delivers: true, loses })));
        for name in 1..=3 {
            let site = net.site(MemoryVault::new(1000), name);
            net.between(|between| between.sites.push(site));
        }
        net
    }

    pub fn site(&self, vault: MemoryVault, name: u8) -> Arc<SiteVault> {
        let provider = provider();
        let moving = MovingVault::new(vault, [name; 16], 1000, LIFETIME, provider.random).unwrap();
        Arc::new(SiteVault::moving(Arc::new(moving), Arc::new(Wire(self.0.clone()))))
    }

    pub fn between<T>(&self, with: impl FnOnce(&mut Between) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn at(&self, site: usize) -> Arc<SiteVault> {
        self.between(|between| between.sites[site].clone())
    }

    /// A site dies, and begins again with nothing.
    pub fn crash(&self, site: usize) {
        let again = self.site(MemoryVault::new(1000), u8::try_from(site + 1).unwrap());
        self.between(|between| between.sites[site] = again);
    }

    /// Moves the client's secrets.
    pub fn move_secrets(&self, from: usize, to: usize) -> usize {
        let (from, to) = (self.at(from), self.at(to).life().unwrap().vault);
        now(from.move_secrets(CLIENT, &to)).unwrap_or(0)
    }

    /// Delivers a secret, as it was sent once.
    pub fn deliver(&self, number: u32, departure: Departure) -> Result<(), ArrivalRefused> {
        let sites = self.between(|between| between.sites.clone());
        let is_its = |it: &&Arc<SiteVault>| it.life().unwrap().vault == departure.to.vault;
        let site = sites.iter().find(is_its).unwrap();
        site.arrive_from_another(message(number, departure), NOW)
    }

    /// A flight of the first site's arrives.
    pub fn arrive(&self, number: u32, site: usize) -> TakeAnswer {
        let mut question = question(number, TakePurpose::Accept, Some(NOW));
        question.incarnation = Some(HOME.incarnation());
        self.ask(&question, site)
    }

    pub fn ask(&self, question: &TakeSecret, site: usize) -> TakeAnswer {
        let site = self.at(site);
        match site.take(question) {
            Reply::Now(answer) => answer,
            Reply::Later => now(site.take_from_afar(question)),
        }
    }
}

/// The first site, whatever its life: these vaults have no directories.
pub const HOME: VaultLife = VaultLife { vault: [1; 16], number: 0, nonce: [0; 16] };

impl SiteChannel for Wire {
    fn burn_at_home(&self, request: &BurnAtHome) -> HomeAnswer {
        let request = *request;
        let burn = |site: &SiteVault| match site.burn_for_another(&request, Some(NOW)) {
            Reply::Now(acknowledgement) => acknowledgement,
            Reply::Later => unreachable!("a memory vault answers at once"),
        };
        Box::pin(ready(self.request(&request.home.vault, burn)))
    }

    fn burn_moved(&self, question: &BurnMoved) -> HomeAnswer {
        let question = *question;
        let burn = |site: &SiteVault| site.burn_moved_here(&question, NOW);
        Box::pin(ready(self.request(&question.departure.to.vault, burn)))
    }

    fn life(&self, vault: &[u8; 16]) -> LifeAnswer {
        Box::pin(ready(self.request(vault, |site| site.life()).flatten()))
    }

    fn carry(&self, moved: MovedSecret) -> CarryAnswer {
        let (number, departure) = (number_of(&moved), moved.departure);
        let delivers = {
            let mut between = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            between.sent.push((number, departure));
            between.delivers
        };
        let arrived = match delivers {
            true => self.request(&departure.to.vault, |site| {
                site.arrive_from_another(message(number, departure), NOW).is_ok()
            }),
            false => None,
        };
        Box::pin(ready(arrived))
    }
}

impl Wire {
    /// Asks the site with this vault, unless the request or its answer is lost.
    fn request<T>(&self, vault: &[u8; 16], ask: impl FnOnce(&SiteVault) -> T) -> Option<T> {
        let (site, loss) = {
            let mut between = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let is_its = |it: &&Arc<SiteVault>| it.life().unwrap().vault == *vault;
            let site = between.sites.iter().find(is_its).unwrap().clone();
            (site, between.loses.as_mut().map_or(9, |dice| dice.roll(8)))
        };
        match loss {
            0 => None,
            1 => {
                ask(&site);
                None
            }
            _ => Some(ask(&site)),
        }
    }
}

pub fn provider() -> Provider {
    tessera_aws_lc::provider()
}

pub fn number_of(moved: &MovedSecret) -> u32 {
    u32::from_be_bytes(moved.handle.0[..4].try_into().unwrap())
}

pub fn message(number: u32, departure: Departure) -> MovedSecret {
    MovedSecret {
        handle: handle(number),
        secret: secret(number).encode(),
        expires_at: NOW + LIFETIME,
        client: CLIENT.to_vec(),
        departure,
    }
}

/// The channel here answers at once.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => unreachable!("the wire answers at once"),
    }
}

pub fn absence(answer: TakeAnswer) -> Absence {
    match answer {
        TakeAnswer::Absent(absence) => absence,
        other => panic!("{other:?}"),
    }
}

pub fn is_taken(answer: &TakeAnswer) -> bool {
    matches!(answer, TakeAnswer::Taken(_))
}
