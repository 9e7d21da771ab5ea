#!/bin/bash
# First step of the GitHub action: finds the program. Input: GPUTALLY_BINARY, or what says which release to download
# (action.yml). Output: program, its absolute path.
#
# A downloaded archive is used only if its SHA-256 is the one that the input sha256 or the release's SHA256SUMS says.
# shellcheck source=packaging/action/common.sh
. "${BASH_SOURCE[0]%/*}/common.sh"

if [[ -n $GPUTALLY_BINARY ]]; then
    [[ -f $GPUTALLY_BINARY && -x $GPUTALLY_BINARY ]] || fail "binary: $GPUTALLY_BINARY is not a program" 2
    set_output program "$(realpath -- "$GPUTALLY_BINARY")"
    exit 0
fi

[[ $RUNNER_OS == Linux ]] || fail "releases are for Linux, and this runner is $RUNNER_OS; set binary to use your own build" 2
case $RUNNER_ARCH in
X64) arch=x86_64 ;;
ARM64) arch=aarch64 ;;
*) fail "releases are for X64 and ARM64, and this runner is $RUNNER_ARCH; set binary to use your own build" 2 ;;
esac
version=${GPUTALLY_VERSION#v}
if [[ -z $version ]]; then
    version=$(sed -n 's/^## \([0-9.]*\).*/\1/p' "$GPUTALLY_ACTION_PATH/CHANGELOG.md" | head -n 1)
fi
[[ $version =~ ^[0-9]+(\.[0-9]+)*[0-9A-Za-z.+~-]*$ ]] || fail "version: not a version: $version" 2
sum=${GPUTALLY_SHA256,,}
[[ -z $sum || $sum =~ ^[0-9a-f]{64}$ ]] || fail "sha256: not 64 hexadecimal digits: $GPUTALLY_SHA256" 2
url=${GPUTALLY_DOWNLOAD_URL%/}
if [[ -z $url ]]; then
    [[ $GPUTALLY_REPOSITORY =~ ^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$ ]] ||
        fail "the action's repository is unknown (a local action?); set binary or download-url" 2
    url=$GITHUB_SERVER_URL/$GPUTALLY_REPOSITORY/releases/download/v$version
fi
[[ $url == https://* && $url != *[[:space:]]* ]] || fail "download-url: not an https address: $url" 2

# Not in the workspace, where it would become part of what the job builds or uploads.
folder=$(mktemp -d "$RUNNER_TEMP/gputally.XXXXXX")
name=gputally-$version-linux-$arch
download() { # FILE
    curl --fail --silent --show-error --location --proto '=https' --retry 3 --max-time 300 --output "$folder/$1" -- "$url/$1" ||
        fail "downloading $url/$1 failed"
}
download "$name.tar.gz"
if [[ -z $sum ]]; then
    download SHA256SUMS
    sum=$(awk -v name="$name.tar.gz" '$2 == name || $2 == "*" name { print $1; exit }' "$folder/SHA256SUMS")
    [[ $sum =~ ^[0-9a-f]{64}$ ]] || fail "SHA256SUMS of the release does not name $name.tar.gz"
fi
found=$(sha256sum <"$folder/$name.tar.gz")
[[ ${found%% *} == "$sum" ]] || fail "$name.tar.gz: SHA-256 is ${found%% *}, expected $sum"
tar -xzf "$folder/$name.tar.gz" -C "$folder" --no-same-owner
program=$(find "$folder" -type f -name gputally -perm -u+x -print -quit)
[[ -n $program ]] || fail "$name.tar.gz contains no program"
set_output program "$program"
