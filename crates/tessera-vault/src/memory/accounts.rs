//! Accounts of secrets: each client's by age, and the clients by how many they hold.

use hashbrown::HashTable;

use crate::memory::list::{Links, List, ListNode};

/// Every named client is counted exactly: the one that holds most is the first to lose a secret.
///
/// Clients without a name can't be distinguished. Together they form one list with a share of the room, below
/// which named clients don't push it. Either side may use what the other leaves free.
pub(crate) struct Accounts {
    nameless: List,
    by_client: HashTable<u32>,
    records: Vec<Record>,
    unused: List,
    /// At index n, the clients that hold n + 1 secrets; the last list is never empty.
    holding: Vec<List>,
    named: usize,
}

/// The account of a named client.
struct Record {
    client: ClientHash,
    /// Its secrets, by slot, the oldest first.
    held: List,
    /// Its place among the clients that hold as many.
    links: Links,
}

impl ListNode for Record {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// A client's name, hashed under a key of this process, so that an attacker can't aim at another's account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientHash(pub(crate) u64);

/// The account that a secret is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account(u32);

impl Account {
    /// The account of all clients without a name.
    pub(crate) const NOBODY: Self = Self(u32::MAX);
}

/// The room's share for named clients is one part in this many.
pub(crate) const RESERVED: usize = 4;

/// Records grow by at least this many: a page.
const RECORDS_PER_PAGE: usize = 128;

impl Accounts {
    pub(crate) const EMPTY: Self = Self {
        nameless: List::EMPTY,
        by_client: HashTable::new(),
        records: Vec::new(),
        unused: List::EMPTY,
        holding: Vec::new(),
        named: 0,
    };

    /// Returns the number of secrets.
    pub(crate) fn len(&self) -> usize {
        self.nameless.len() + self.named
    }

    /// Returns how many secrets a named client has.
    pub(crate) fn held_by(&self, client: ClientHash) -> usize {
        self.find(client).map_or(0, |account| self.records[account as usize].held.len())
    }

    /// Returns the oldest secret of a named client.
    pub(crate) fn oldest_of_client(&self, client: ClientHash) -> Option<u32> {
        self.oldest_of(self.find(client)?)
    }

    /// Returns the oldest secret of a client without a name.
    pub(crate) fn oldest_nameless(&self) -> Option<u32> {
        self.nameless.oldest()
    }

    /// Returns the secret to evict for one of `client` when all `room` is taken. No named client loses a
    /// secret to one that holds more; `None` if nothing may be evicted.
    pub(crate) fn gives_way(&self, client: Option<ClientHash>, room: usize) -> Option<u32> {
        let share = room - room.div_ceil(RESERVED);
        let (nameless, most) = (self.nameless.len(), self.holding.len());
        match client {
            Some(_) if nameless > share => self.nameless.oldest(),
            // Of several that hold most, evict from the client itself.
            Some(client) if self.held_by(client) == most => self.oldest_of(self.find(client)?),
            Some(_) => self.oldest_of_most(),
            None if nameless < share && most > nameless => self.oldest_of_most(),
            None => self.nameless.oldest(),
        }
    }

    /// Counts the secret in `slot`.
    pub(crate) fn add(
        &mut self,
        client: Option<ClientHash>,
        slots: &mut [impl ListNode],
        slot: u32,
    ) -> Account {
        let Some(client) = client else {
            self.nameless.push(slots, slot);
            return Account::NOBODY;
        };
        let account = self.find(client).unwrap_or_else(|| self.open(client));
        let before = self.records[account as usize].held.len();
        self.records[account as usize].held.push(slots, slot);
        self.named += 1;
        self.moved(account, before, before + 1);
        Account(account)
    }

    /// Removes the secret in `slot` from its account.
    pub(crate) fn remove(&mut self, account: Account, slots: &mut [impl ListNode], slot: u32) {
        if account == Account::NOBODY {
            self.nameless.remove(slots, slot);
            return;
        }
        let record = &mut self.records[account.0 as usize];
        let before = record.held.len();
        record.held.remove(slots, slot);
        self.named -= 1;
        self.moved(account.0, before, before - 1);
        if before == 1 {
            self.close(account.0);
        }
    }

    /// Returns the oldest secret of each account, with a number for each named client.
    pub(crate) fn oldest_of_each(&self) -> impl Iterator<Item = (u32, Option<u32>)> {
        let named = (0..).zip(&self.records);
        let named = named.filter_map(|(owner, it)| Some((it.held.oldest()?, Some(owner))));
        self.nameless.oldest().map(|slot| (slot, None)).into_iter().chain(named)
    }

    fn find(&self, client: ClientHash) -> Option<u32> {
        let is_it = |&account: &u32| self.records[account as usize].client == client;
        self.by_client.find(client.0, is_it).copied()
    }

    fn oldest_of(&self, account: u32) -> Option<u32> {
        self.records[account as usize].held.oldest()
    }

    fn oldest_of_most(&self) -> Option<u32> {
        self.oldest_of(self.holding.last()?.oldest()?)
    }

    fn open(&mut self, client: ClientHash) -> u32 {
        let new = Record { client, held: List::EMPTY, links: Links::UNLINKED };
        let account = match self.unused.oldest() {
            Some(account) => {
                self.unused.remove(&mut self.records, account);
                self.records[account as usize] = new;
                account
            }
            None => {
                if self.records.len() == self.records.capacity() {
                    self.records.reserve_exact((self.records.len() / 8).max(RECORDS_PER_PAGE));
                }
                self.records.push(new);
                (self.records.len() - 1) as u32
            }
        };
        let records = &self.records;
        let rehash = |&account: &u32| records[account as usize].client.0;
        self.by_client.insert_unique(client.0, account, rehash);
        account
    }

    fn close(&mut self, account: u32) {
        let ClientHash(hash) = self.records[account as usize].client;
        if let Ok(found) = self.by_client.find_entry(hash, |&other| other == account) {
            found.remove();
        }
        self.unused.push(&mut self.records, account);
    }

    /// Moves a client from the list for `before` secrets to that for `after`, one more or less.
    fn moved(&mut self, account: u32, before: usize, after: usize) {
        if let Some(list) = before.checked_sub(1).and_then(|at| self.holding.get_mut(at)) {
            list.remove(&mut self.records, account);
        }
        if let Some(at) = after.checked_sub(1) {
            if self.holding.len() == at {
                self.holding.push(List::EMPTY);
            }
            self.holding[at].push(&mut self.records, account);
        }
        while self.holding.last().is_some_and(|list| list.len() == 0) {
            self.holding.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Slot(Links);

    impl ListNode for Slot {
        fn links(&mut self) -> &mut Links {
            &mut self.0
        }
    }

    #[test]
    fn clients_that_come_and_go_leave_nothing() {
        let (mut accounts, mut slots) = (Accounts::EMPTY, [Slot(Links::UNLINKED)]);
        for name in 0..1000 {
            let account = accounts.add(Some(ClientHash(name)), &mut slots, 0);
            accounts.remove(account, &mut slots, 0);
            assert_eq!(accounts.held_by(ClientHash(name)), 0);
        }
        assert_eq!((accounts.len(), accounts.records.len(), accounts.by_client.len()), (0, 1, 0));
    }

    #[test]
    fn the_oldest_secret_without_a_name_came_first() {
        let (mut accounts, mut slots) = (Accounts::EMPTY, [(); 4].map(|()| Slot(Links::UNLINKED)));
        assert_eq!(accounts.oldest_nameless(), None);
        accounts.add(Some(ClientHash(1)), &mut slots, 0);
        let first = accounts.add(None, &mut slots, 3);
        accounts.add(None, &mut slots, 2);
        assert_eq!(accounts.oldest_nameless(), Some(3));
        accounts.remove(first, &mut slots, 3);
        assert_eq!(accounts.oldest_nameless(), Some(2));
    }

    /// Clients without a name have three quarters, as long as others need the rest.
    #[test]
    fn a_nameless_client_takes_from_its_own_kind_once_they_have_their_share() {
        let (mut accounts, mut slots) = (Accounts::EMPTY, [(); 9].map(|()| Slot(Links::UNLINKED)));
        for slot in 0..8 {
            accounts.add((slot >= 3).then_some(ClientHash(1)), &mut slots, slot);
        }
        assert_eq!(accounts.gives_way(None, 4), Some(0));
        assert_eq!(accounts.gives_way(None, 6), Some(3));
    }
}
