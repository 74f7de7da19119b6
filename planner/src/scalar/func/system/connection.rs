//! What a session asks about the way in which its client has come, and about the server: addresses, times, the statement at hand.

use super::super::arguments::{string, truth};
use super::super::{FunctionDefinition, lenient, strict};
use super::{Answer, EvalContext};
use crate::scalar::ListedSession;
use repr::{Datum, Network, ValueError};
use std::net::SocketAddr;

/// This session, as others are shown it.
fn own(ctx: &EvalContext) -> Result<Option<ListedSession>, ValueError> {
    let backend = ctx.environment.backend_pid();
    Ok(ctx.environment.acts()?.sessions().into_iter().find(|session| session.backend == backend))
}

fn client(ctx: &EvalContext) -> Result<Option<SocketAddr>, ValueError> {
    Ok(own(ctx)?.and_then(|session| session.connection.client))
}

fn server(ctx: &EvalContext) -> Result<Option<SocketAddr>, ValueError> {
    Ok(own(ctx)?.and_then(|session| session.connection.server))
}

/// An address alone, of which all bits count.
pub(crate) fn connection_end(end: Option<SocketAddr>) -> Datum {
    let bits = |end: SocketAddr| if end.is_ipv4() { 32 } else { 128 };
    end.and_then(|end| Network::new(end.ip(), bits(end))).map_or(Datum::Null, Datum::Network)
}

fn port(end: Option<SocketAddr>) -> Answer {
    Ok(end.map_or(Datum::Null, |end| Datum::Int4(i32::from(end.port()))))
}

/// There is no recovery to tell of.
fn not_recovering() -> ValueError {
    ValueError {
        hint: Some("Recovery control functions can only be executed during recovery.".into()),
        ..ValueError::new("55000", "recovery is not in progress")
    }
}

pub(in super::super) const CONNECTIONS: &[FunctionDefinition] = &[
    strict("inet_client_addr() inet", |ctx, _, _| Ok(connection_end(client(ctx)?))).stable(),
    strict("inet_client_port() int4", |ctx, _, _| port(client(ctx)?)).stable(),
    strict("inet_server_addr() inet", |ctx, _, _| Ok(connection_end(server(ctx)?))).stable(),
    strict("inet_server_port() int4", |ctx, _, _| port(server(ctx)?)).stable(),
    lenient("current_query() text", |ctx, _, _| own(ctx)?.map_or(Ok(Datum::Null), |session| string(session.query)))
        .volatile(),
    strict("pg_postmaster_start_time() timestamptz", |ctx, _, _| {
        Ok(Datum::Timestamptz(ctx.environment.acts()?.server_began_at()))
    })
    .stable(),
    strict("pg_conf_load_time() timestamptz", |ctx, _, _| {
        Ok(Datum::Timestamptz(ctx.environment.acts()?.configured_at()))
    })
    .stable(),
    // There are no triggers, no compiled queries and no recovery.
    strict("pg_trigger_depth() int4", |_, _, _| Ok(Datum::Int4(0))).stable(),
    strict("pg_jit_available() bool", |_, _, _| truth(false)).volatile(),
    strict("pg_is_wal_replay_paused() bool", |_, _, _| Err(not_recovering())).volatile(),
    strict("pg_last_xact_replay_timestamp() timestamptz", |_, _, _| Ok(Datum::Null)).volatile(),
    strict("getpgusername() name", |ctx, _, _| string(&*ctx.environment.actor().name)).stable(),
    // What is shown is read when it is asked for.
    strict("pg_stat_clear_snapshot() void", |_, _, _| string("")).volatile(),
];
