/* The gputally program. */
int main(void)
{
    return 0;
}
