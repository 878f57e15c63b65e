# Keeps a listening socket and gives it to a command as descriptor 3, as a systemd unit with a .socket does.
# Arguments: the path, then the command. Each line on stdin starts the command. Its process id is written to stdout.
use strict;
use warnings;
use Socket;

BEGIN { $^F = 10; }    # Descriptors stay open in the command.
$| = 1;
$SIG{CHLD} = "IGNORE";
my ($path, @command) = @ARGV;
umask 0177;
socket(my $server, PF_UNIX, SOCK_STREAM, 0) or die "socket: $!";
fileno($server) == 3 or die "expected descriptor 3";
bind($server, sockaddr_un($path)) or die "bind: $!";
listen($server, 128) or die "listen: $!";
while (defined(<STDIN>)) {
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        @ENV{qw(LISTEN_PID LISTEN_FDS LISTEN_FDNAMES)} = ($$, 1, "signer");
        exec(@command) or die "exec: $!";
    }
    print "$pid\n";
}
