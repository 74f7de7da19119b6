//! A consent that is withdrawn: who works for a purpose sees what allows it, and no longer once it does not.

use crate::failure::Failure;
use crate::server::Server;
use crate::tell::{claim, fact};
use crate::watch::Watch;
use crate::{data, number, refused, timed};
use postgres::Client;
use std::sync::mpsc::channel;
use std::time::Instant;

const SECRET: &str = "the agency alone";
/// People who agree to letters, the person of the story among them.
const AGREED: u32 = 9;

const SCHEMA: &str = "CREATE TABLE letters (user_id INT PRIMARY KEY, FOREIGN KEY (user_id) OWNED_BY users(id), purposes TEXT[] PURPOSES);
    CREATE PURPOSE newsletter;
    CREATE PURPOSE profiling;
    CREATE ROLE agency LOGIN IN ROLE dogwood_processor;
    GRANT SELECT ON letters TO agency;
    GRANT PURPOSE newsletter TO agency";

/// An agency watches who agrees; the person withdraws.
pub fn withdrawn(server: &Server, client: &mut Client, person: u32) -> Result<(), Failure> {
    let insert = format!(
        "INSERT INTO letters SELECT id, CASE WHEN id <= {AGREED} THEN '{{newsletter}}'::text[] ELSE '{{}}' END FROM users WHERE id <= 20"
    );
    let password = format!("ALTER ROLE agency PASSWORD '{SECRET}'");
    let ((), time) = timed(|| Ok(client.batch_execute(&format!("{SCHEMA}; {password}; {insert}"))?))?;
    fact("GRANT PURPOSE", time, "of newsletters, to an agency");

    let (notes, _) = channel();
    let mut agency = server.connect_as("agency", SECRET, notes)?;
    claim("without a purpose it sees nobody", number(&mut agency, "SELECT count(*) FROM letters")? == 0)?;
    claim("another purpose is not for it", refused(&mut agency, "SET dogwood.purpose = 'profiling'", "42501")?)?;
    agency.batch_execute("SET dogwood.purpose = 'newsletter'")?;
    let (seen, time) = timed(|| number(&mut agency, "SELECT count(*) FROM letters"))?;
    fact("count(*)", time, &format!("{seen} people who agreed"));
    claim("it sees those who agreed, and nobody else", seen == u64::from(AGREED))?;

    let (watch, snapshot) = Watch::of(agency, "SELECT user_id FROM letters")?;
    claim("it watches them live", snapshot.rows.len() == AGREED as usize)?;
    let sent = Instant::now();
    client.batch_execute(&format!("UPDATE letters SET purposes = '{{}}' WHERE user_id = {person}"))?;
    let change = watch.next()?;
    fact("heard", change.at.duration_since(sent), &format!("after {} withdrew: -1", data::name(person)));
    claim("the person has left the list, and nobody else", change.rows == [(-1, vec![person.to_string()])])?;

    // The story goes on without it.
    drop(watch);
    Ok(client.batch_execute(
        "DROP TABLE letters; DROP OWNED BY agency; DROP PURPOSE newsletter, profiling; DROP ROLE agency",
    )?)
}
