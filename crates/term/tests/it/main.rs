//! What a terminal keeps, shows again and answers, as its users see it.

mod captures;
mod law;
mod streams;
