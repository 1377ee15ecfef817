//! Coming back over records: tickets, their keys and stores, early data that counts once, and what a session is
//! good for.

mod early_data_offers;
mod issued_tickets;
mod kept_keys;
mod lone_identities;
mod replay;
mod scope;
mod stores;
